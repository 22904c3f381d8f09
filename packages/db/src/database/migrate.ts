import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { connectPostgres, endSession } from '@tocsin/runtime/postgres/connect';
import { drizzle } from 'drizzle-orm/node-postgres';
import type { Client } from 'pg';
import { z } from 'zod';
import { ensureEventPartitions } from '../events/partitions.ts';
import { alignSpans } from '../monitor-regions/schedule-spans.ts';
import { applyMigrations, type ApplyOptions, type MigrationRun, PATIENCE } from './apply-migrations.ts';
import { ADVISORY_LOCKS, tryAdvisoryLock } from './leader-lease.ts';
import { readMigrations } from './read-migrations.ts';
import { queryOne } from './sql.ts';

export const MIGRATIONS = fileURLToPath(new URL('../../migrations', import.meta.url));

/** A server that is starting or busy may need this long to accept a connection. */
const CONNECT_WITHIN_MS = 60_000;
/** Polling interval for the lock of another migrator. */
const LOCK_POLL_MS = 500;

export interface MigrateOptions extends Partial<ApplyOptions> {
  readonly folder?: string;
  /** Length of a partition of events. Defaults to a day. */
  readonly partitionMinutes?: number;
}

/**
 * Brings the database to this version's schema while services run. Concurrent runs take turns.
 * @throws Error if it waits ten minutes for locks or another run, its signal interrupts it, or an earlier build made the database
 */
export async function migrate(databaseUrl: string, options: MigrateOptions = {}): Promise<void> {
  const { folder = MIGRATIONS, partitionMinutes, signal = new AbortController().signal, ...others } = options;
  try {
    await withSession(databaseUrl, (client) =>
      withSession(databaseUrl, async (watcher) => {
        const { pid } = await queryOne(drizzle(client), z.object({ pid: z.number() }))`
          select pg_backend_pid() as pid`;
        const run: MigrationRun = {
          patience: PATIENCE,
          onWait: () => undefined,
          onReport: () => undefined,
          now: () => performance.now(),
          ...others,
          signal,
          client,
          watcher,
          pid,
          waitedMs: 0,
        };
        await migrateIn(run, folder, partitionMinutes);
      }),
    );
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new Error('The migration was interrupted. Run it again. It continues where it stopped.', {
      cause: error,
    });
  }
}

async function migrateIn(run: MigrationRun, folder: string, minutes?: number): Promise<void> {
  const { client, signal } = run;
  await lockMigrations(run);
  // The role may have limits meant for the services, but an index build may take any time.
  await client.query('set statement_timeout = 0');
  await client.query('set lock_timeout = 0');
  await applyMigrations(run, readMigrations(folder));
  signal.throwIfAborted();
  await ensureEventPartitions(drizzle(client), { minutes });
  await alignSpans(drizzle(client), ({ id, error }) => {
    throw new Error(`The schedule spans of monitor ${id} cannot be aligned`, { cause: error });
  });
}

async function withSession(databaseUrl: string, work: (client: Client) => Promise<void>): Promise<void> {
  const session = await connectPostgres(databaseUrl, {
    applicationName: 'tocsin migrations',
    session: 'primary',
    connectWithinMs: CONNECT_WITHIN_MS,
  });
  try {
    await work(session.client);
  } finally {
    await endSession(session);
  }
}

/** Takes the lock of migrations. Polls, because a session that waits for a lock has a snapshot (ADR 13). @throws Error if it waits for too long */
async function lockMigrations(run: MigrationRun): Promise<void> {
  const { client, patience, now, signal } = run;
  for (;;) {
    const startedAt = now();
    if (await tryAdvisoryLock(client, ADVISORY_LOCKS.migrations)) return;
    if (run.waitedMs >= patience.maxWaitMs) {
      throw new Error(
        'Another migration is still running, in a session named `tocsin migrations`. Wait for it to end, and run this one again.',
      );
    }
    await wait(LOCK_POLL_MS, undefined, { signal });
    run.waitedMs += now() - startedAt;
  }
}
