import { createHash, randomBytes } from 'node:crypto';

/** Fixed prefix, `_live_`, 48 hexadecimal characters (specification "API key", design §3). */
const FORMAT = /^tocsin_live_[0-9a-fA-F]{48}$/;

/** A new raw API key. It is shown once; only its hash is kept. */
export function generateApiKey(): string {
  return `tocsin_live_${randomBytes(24).toString('hex')}`;
}

/** Whether the text has the form of an API key of ours. */
export function isApiKey(text: string): boolean {
  return FORMAT.test(text);
}

/** SHA-256 of the raw key, hexadecimal: what is stored and looked up. */
export function hashApiKey(rawKey: string): string {
  return createHash('sha256').update(rawKey).digest('hex');
}

/** A new token of an invitation link. It is shown once; only its hash is kept. */
export function generateInvitationToken(): string {
  return randomBytes(32).toString('base64url');
}

/** SHA-256 of the token, hexadecimal: what is stored and looked up. */
export function hashInvitationToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
