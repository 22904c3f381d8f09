import { createHash, randomBytes } from 'node:crypto';
import { AGENT_TOKEN_PREFIX, API_KEY_PREFIX } from '@tocsin/contracts/limits';

/** Creates a raw API key. It is shown once, and only its hash is stored. */
export function generateApiKey(): string {
  return `${API_KEY_PREFIX}${randomBytes(24).toString('hex')}`;
}

/** Creates a raw agent token. It is shown once, and only its hash is stored. */
export function generateAgentToken(): string {
  return `${AGENT_TOKEN_PREFIX}${randomBytes(24).toString('hex')}`;
}

/** Creates the token of an invitation link. It is shown once, and only its hash is stored. */
export function generateInvitationToken(): string {
  return randomBytes(32).toString('base64url');
}

/** Returns the SHA-256 hash of an API key or a token in hexadecimal. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
