import type { ErrorReason } from '@tocsin/contracts/vocabulary';

const WORDS: Readonly<Record<Exclude<ErrorReason, `HTTP_${number}`>, string>> = {
  TIMEOUT: 'No answer in time',
  DNS_ERROR: 'Name not found',
  CONNECTION_REFUSED: 'Connection refused',
  UNKNOWN_ERROR: 'Check failed',
};

/** Why a check failed or a monitor went down, in words; the code of the API where there are none. */
export function describeCause(cause: string | null): string {
  if (cause === null) return 'Cause not known';
  const words: Readonly<Record<string, string>> = WORDS;
  return words[cause] ?? cause.replace(/^HTTP_(\d+)$/, 'Answered $1');
}
