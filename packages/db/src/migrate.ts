import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { connectPostgres, endSession } from '@tocsin/runtime/postgres/connect';
import { drizzle } from 'drizzle-orm/node-postgres';
import type { Client } from 'pg';
import { ADVISORY_LOCKS } from './database/leader-lease.ts';
import { ensureEventPartitions } from './events/ensure-partitions.ts';
import { applyMigrations, PATIENCE, type ApplyOptions, type Waited } from './migrations/apply-migrations.ts';
import { readMigrations } from './migrations/read-migrations.ts';
import { alignSpans } from './schedule-spans/align-spans.ts';

export const MIGRATIONS = fileURLToPath(new URL('../migrations', import.meta.url));

/** A PostgreSQL that is just starting, or busy, may take its time. */
const CONNECT_WITHIN_MS = 60_000;
/** How often a migrator looks whether another one has finished. */
const TURN_EVERY_MS = 500;

export interface MigrateOptions extends Partial<ApplyOptions> {
  /** Default: this version's. */
  readonly folder?: string;
}

/**
 * Brings the database to this version's schema while services go on. Several processes may do so at once: they take turns.
 * @throws Error where it has waited for ten minutes in all, for locks that other sessions hold, which it names, or for its turn;
 * also where it was interrupted by its signal
 */
export async function migrate(databaseUrl: string, options: MigrateOptions = {}): Promise<void> {
  const { folder = MIGRATIONS, ...others } = options;
  const applyOptions: ApplyOptions = {
    patience: PATIENCE,
    onWait: () => undefined,
    onReport: () => undefined,
    now: () => performance.now(),
    signal: new AbortController().signal,
    ...others,
  };
  try {
    await migrateFolder(databaseUrl, folder, applyOptions);
  } catch (error) {
    if (!applyOptions.signal.aborted) throw error;
    throw new Error('The migration was interrupted. Run it again: it continues where it stopped.', {
      cause: error,
    });
  }
}

async function migrateFolder(databaseUrl: string, folder: string, options: ApplyOptions): Promise<void> {
  const waited: Waited = { ms: 0 };
  await withSession(databaseUrl, (client) =>
    withSession(databaseUrl, async (watcher) => {
      await takeTurn(client, options, waited);
      // A role may have limits, which are for the services: building an index takes as long as it takes.
      await client.query('set statement_timeout = 0');
      await client.query('set lock_timeout = 0');
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
      const sessions = { client, watcher, pid: rows[0]?.pid ?? 0 };
      await applyMigrations(sessions, readMigrations(folder), options, waited);
      options.signal.throwIfAborted();
      const db = drizzle(client);
      await ensureEventPartitions(db);
      await alignSpans(db);
    }),
  );
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

/**
 * Takes the lock of migrations, which ends with the session. Asks again and again: a session that waits for a lock has a snapshot, for
 * which an index that is built concurrently would wait in turn.
 * @throws Error where the run has waited for too long; the reason of the signal
 */
async function takeTurn(
  client: Client,
  { patience, now, signal }: ApplyOptions,
  waited: Waited,
): Promise<void> {
  for (;;) {
    const askedAt = now();
    const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [
      ADVISORY_LOCKS.migrations,
    ]);
    if (rows[0]?.locked === true) return;
    if (waited.ms >= patience.maxWaitMs) {
      throw new Error(
        'Another migration is still running, in a session named `tocsin migrations`. Wait for it to end, and run this one again.',
      );
    }
    await wait(TURN_EVERY_MS, undefined, { signal });
    waited.ms += now() - askedAt;
  }
}
