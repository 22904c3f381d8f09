import type { SecretBox } from '@tocsin/core/secrets/secret-box';
import type { CheckIdentity } from '../checks/check-prober.ts';

/** Distinguishes tickets from other secrets of the same key. Change it along with the fields of a ticket. */
const PREFIX = 'agent ticket 1 ';

interface Ticket extends CheckIdentity {
  /** Epoch milliseconds. */
  readonly issuedAt: number;
}

/** Returns a text that identifies a check to every gateway. Agents can neither read nor forge it. */
export function sealTicket(secrets: SecretBox, ticket: Ticket): string {
  return secrets.encrypt(PREFIX + JSON.stringify(ticket));
}

/** Returns null unless a gateway with these keys sealed the text. */
export function openTicket(secrets: SecretBox, text: string): Ticket | null {
  try {
    const plain = secrets.decrypt(text);
    // The encryption is authenticated, so the content is as a gateway wrote it.
    return plain.startsWith(PREFIX) ? (JSON.parse(plain.slice(PREFIX.length)) as Ticket) : null;
  } catch {
    return null;
  }
}
