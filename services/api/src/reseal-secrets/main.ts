import { SecretBox } from '@tocsin/core/secrets/secret-box';
import { openDatabase } from '@tocsin/db/database/open';
import { resealSecrets } from '@tocsin/db/secrets/reseal-secrets';
import { parseEnv, SettingsError } from '@tocsin/runtime/env';
import { createLogger } from '@tocsin/runtime/logger';
import { secretValues, settings } from '@tocsin/runtime/settings';
import { describeReseal } from './describe-reseal.ts';

/*
 * A command, not a part of the service: seals every secret at rest with the first key of SECRETS_KEY
 * (docs/runbooks/key-rotation.md). Exits 0 where nothing needs the other keys any more, else 1.
 */
try {
  process.exitCode = (await main()) ? 0 : 1;
} catch (error) {
  if (error instanceof SettingsError) process.stderr.write(`${error.message}\n`);
  else createLogger({ service: 'reseal-secrets', secrets: secretValues() }).error('Broke off', { error });
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
