import { createHash, randomBytes } from 'node:crypto';

/** A new token of an invitation link. It is shown once; only its hash is kept. */
export function generateInvitationToken(): string {
  return randomBytes(32).toString('base64url');
}

/** SHA-256 of the token, hexadecimal: what is stored and looked up. */
export function hashInvitationToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
