import { migrate } from '@tocsin/db/database/migrate';
import { migrateQueue } from '@tocsin/queue/migrate';
import { parseEnv, SettingsError } from '@tocsin/runtime/env';
import { createLogger } from '@tocsin/runtime/logger';
import { parseRegionQueueUrls, secretValues, settings } from '@tocsin/runtime/settings';

/*
 * A command, not part of the service: migrates the database, and queues on Postgres, to this version's schema. Run it before you start
 * the services of a new version (docs/runbooks/upgrade.md). It may run repeatedly and concurrently. Exits with 0 on success.
 * SIGTERM and SIGINT cancel the running statement: otherwise the server would continue it, and the next run would wait for it.
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
  // BullMQ's migrations cannot be interrupted, so from here on a signal ends the process at once.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.off(signal, interrupt);
  for (const url of new Set([env.QUEUE_URL, ...parseRegionQueueUrls().values()])) await migrateQueue(url);
  logger.info('The schema is up to date');
} catch (error) {
  if (error instanceof SettingsError) process.stderr.write(`${error.message}\n`);
  else logger.error('Could not migrate', { error });
  process.exitCode = 1;
}
