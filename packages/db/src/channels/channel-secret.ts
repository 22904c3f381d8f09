import { randomBytes } from 'node:crypto';

/** A new Standard Webhooks secret. */
export function generateChannelSecret(): string {
  return `whsec_${randomBytes(24).toString('base64')}`;
}
