import { hkdfSync } from 'node:crypto';

/**
 * The secret that signs session cookies, derived (HKDF-SHA-256) from the current, that is the first, key of
 * `SECRETS_KEY`, so that there is one secret to keep. Rotating that key signs everybody out.
 */
export function authSecret(secretsKeys: readonly Buffer[]): string {
  const [current] = secretsKeys;
  if (current === undefined) throw new RangeError('there is no key to derive from');
  return Buffer.from(hkdfSync('sha256', current, '', 'tocsin session cookies v1', 32)).toString('base64');
}
