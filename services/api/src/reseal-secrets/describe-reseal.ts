import type { ResealReport } from '@tocsin/db/secrets/reseal-secrets';

const MOST_ROWS = 20;

/** What an operator must know after a run, in sentences; `done` where nothing but dropping old keys is left to do. */
export function describeReseal(
  report: ResealReport,
  keyIds: readonly string[],
): { readonly done: boolean; readonly lines: readonly string[] } {
  const [current = '', ...others] = keyIds;
  const lines = [`Sealed ${report.resealed} of ${report.total} secrets with key ${current}.`];
  for (const [keyId, secrets] of report.left) {
    lines.push(
      `${secrets} secrets are still sealed with key ${keyId}: a service may go on using it. Restart every service with the new key first in SECRETS_KEY, then run this again.`,
    );
  }
  for (const [keyId, secrets] of report.unreadable) {
    lines.push(
      `${secrets} secrets are sealed with key ${keyId}, which SECRETS_KEY does not hold: they were left as they are. Put that key at the end of SECRETS_KEY, then run this again.`,
    );
  }
  if (report.unreadableRows.length > 0) {
    const shown = report.unreadableRows.slice(0, MOST_ROWS).join(', ');
    const more = report.unreadableRows.length > MOST_ROWS ? ', …' : '';
    lines.push(`The monitors and channels with such secrets: ${shown}${more}`);
  }
  const done = report.left.size === 0 && report.unreadable.size === 0;
  if (done && others.length > 0) {
    lines.push(`Nothing needs the other keys any more. They may leave SECRETS_KEY: ${others.join(', ')}.`);
  }
  return { done, lines };
}
