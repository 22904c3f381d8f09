import { SecretBox } from '@tocsin/core/secrets/secret-box';
import { openDatabase } from '@tocsin/db/database/open';
import { type ResealReport, resealSecrets } from '@tocsin/db/secrets/reseal-secrets';
import { parseEnv, SettingsError } from '@tocsin/runtime/env';
import { createLogger } from '@tocsin/runtime/logger';
import { secretValues, settings } from '@tocsin/runtime/settings';

const MAX_ROWS = 20;

/** Describes a run to an operator. `done` if no secret needs the other keys. */
export function describeReseal(
  report: ResealReport,
  keyIds: readonly string[],
): { readonly done: boolean; readonly lines: readonly string[] } {
  const [current = '', ...others] = keyIds;
  const lines = [`Encrypted ${report.resealed} of ${report.total} secrets with key ${current}.`];
  for (const [keyId, secrets] of report.left) {
    lines.push(
      `${secrets} secrets are still encrypted with key ${keyId}: a service may still use it. Restart every service with the new key first in SECRETS_KEY, then run this again.`,
    );
  }
  for (const [keyId, secrets] of report.unreadable) {
    lines.push(
      `${secrets} secrets are encrypted with key ${keyId}, which is not in SECRETS_KEY: they were not changed. Add that key at the end of SECRETS_KEY, then run this again.`,
    );
  }
  if (report.unreadableRows.length > 0) {
    const shown = report.unreadableRows.slice(0, MAX_ROWS).join(', ');
    const more = report.unreadableRows.length > MAX_ROWS ? ', …' : '';
    lines.push(`The monitors and channels with such secrets: ${shown}${more}`);
  }
  const done = report.left.size === 0 && report.unreadable.size === 0;
  if (done && others.length > 0) {
    lines.push(
      `No secret needs the other keys any more. You can remove them from SECRETS_KEY: ${others.join(', ')}.`,
    );
  }
  return { done, lines };
}

/**
 * Command that encrypts every secret with the first key of SECRETS_KEY (docs/runbooks/key-rotation.md). Exits with 0 if no secret
 * uses the other keys.
 */
try {
  process.exitCode = (await main()) ? 0 : 1;
} catch (error) {
  if (error instanceof SettingsError) process.stderr.write(`${error.message}\n`);
  else createLogger({ service: 'reseal-secrets', secrets: secretValues() }).error('Reseal failed', { error });
  process.exitCode = 1;
}

async function main(): Promise<boolean> {
  const env = parseEnv(settings.pick({ DATABASE_URL: true, DATABASE_DIRECT_URL: true, SECRETS_KEY: true }));
  const secrets = new SecretBox(env.SECRETS_KEY);
  const database = openDatabase({
    url: env.DATABASE_DIRECT_URL ?? env.DATABASE_URL,
    poolSize: 1,
    applicationName: 'tocsin reseal-secrets',
    onIdleError: () => undefined,
  });
  try {
    const { done, lines } = describeReseal(await resealSecrets({ db: database.db, secrets }), secrets.keyIds);
    process.stdout.write(`${lines.join('\n')}\n`);
    return done;
  } finally {
    await database.close();
  }
}
