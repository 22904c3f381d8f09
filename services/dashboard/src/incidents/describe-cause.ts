import type { Incident } from '@tocsin/contracts/incident';

const WORDS: Readonly<Record<string, string>> = {
  TIMEOUT: 'No answer in time',
  DNS_ERROR: 'Name not found',
  CONNECTION_REFUSED: 'Connection refused',
  UNKNOWN_ERROR: 'Check failed',
};

/** Why a monitor went down, in words; the code of the API where there are none. */
export function describeCause(cause: Incident['cause']): string {
  if (cause === null) return 'Cause not known';
  return WORDS[cause] ?? cause.replace(/^HTTP_(\d+)$/, 'Answered $1');
}
