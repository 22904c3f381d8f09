import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { connectPostgres, endSession } from '@tocsin/runtime/postgres/connect';
import { drizzle } from 'drizzle-orm/node-postgres';
import type { Client } from 'pg';
import { ADVISORY_LOCKS } from './database/leader-lease.ts';
import { ensureEventPartitions } from './events/ensure-partitions.ts';
import { applyMigrations, PATIENCE, type ApplyOptions } from './migrations/apply-migrations.ts';
import { readMigrations } from './migrations/read-migrations.ts';
import { alignSpans } from './schedule-spans/align-spans.ts';

export const MIGRATIONS = fileURLToPath(new URL('../migrations', import.meta.url));

/** How often a migrator looks whether another one has finished. */
const TURN_EVERY_MS = 500;

export interface MigrateOptions extends Partial<ApplyOptions> {
  /** Default: this version's. */
  readonly folder?: string;
}

/**
 * Brings the database to this version's schema while services go on. Several processes may do so at once: they take turns.
 * @throws Error where other sessions hold a lock that a migration needs for ten minutes: it names them
 */
export async function migrate(databaseUrl: string, options: MigrateOptions = {}): Promise<void> {
  await withSession(databaseUrl, (client) =>
    withSession(databaseUrl, async (watcher) => {
      await takeTurn(client);
      // A role may have limits, which are for the services: building an index takes as long as it takes.
      await client.query('set statement_timeout = 0');
      await client.query('set lock_timeout = 0');
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
      const { folder = MIGRATIONS, patience = PATIENCE, onWait = () => undefined } = options;
      const sessions = { client, watcher, pid: rows[0]?.pid ?? 0 };
      await applyMigrations(sessions, readMigrations(folder), { patience, onWait });
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
 */
async function takeTurn(client: Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [
      ADVISORY_LOCKS.migrations,
    ]);
    if (rows[0]?.locked === true) return;
    await wait(TURN_EVERY_MS);
  }
}
