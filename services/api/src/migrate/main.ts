import { migrate } from '@tocsin/db/database/migrate';
import { migrateQueue } from '@tocsin/queue/migrate';
import { parseEnv, SettingsError } from '@tocsin/runtime/env';
import { createLogger } from '@tocsin/runtime/logger';
import { secretValues, settings } from '@tocsin/runtime/settings';

/**
 * Command that migrates the database, and the queue if it is on Postgres (docs/runbooks/upgrade.md). Safe to run repeatedly and concurrently.
 * SIGTERM and SIGINT cancel the running statement, which would otherwise continue and block the next run.
 */
const logger = createLogger({ service: 'migrate', secrets: secretValues() });
const interruption = new AbortController();
const interrupt = (): void => interruption.abort();
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, interrupt);
try {
  const env = parseEnv(
    settings.pick({
      DATABASE_URL: true,
      DATABASE_DIRECT_URL: true,
      EVENT_PARTITION_MINUTES: true,
      QUEUE_URL: true,
    }),
  );
  await migrate(env.DATABASE_DIRECT_URL ?? env.DATABASE_URL, {
    partitionMinutes: env.EVENT_PARTITION_MINUTES,
    onWait: (wait) => logger.warn('A migration is waiting for locks of other sessions', wait),
    onReport: ({ migration, rows }) =>
      logger.warn('A migration deleted rows', { migration, count: rows.length, rows }),
    signal: interruption.signal,
  });
  interruption.signal.throwIfAborted();
  // BullMQ's migrations cannot be interrupted, so signals now end the process at once.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.off(signal, interrupt);
  await migrateQueue(env.QUEUE_URL);
  logger.info('The schema is up to date');
} catch (error) {
  if (error instanceof SettingsError) process.stderr.write(`${error.message}\n`);
  else logger.error('Could not migrate', { error });
  process.exitCode = 1;
}
