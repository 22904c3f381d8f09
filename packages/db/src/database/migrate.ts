import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { connectPostgres, endSession } from '@tocsin/runtime/postgres/connect';
import { drizzle } from 'drizzle-orm/node-postgres';
import type { Client } from 'pg';
import { ensureEventPartitions } from '../events/partitions.ts';
import { alignSpans } from '../monitor-regions/schedule-spans.ts';
import { applyMigrations, type ApplyOptions, PATIENCE, type Waited } from './apply-migrations.ts';
import { ADVISORY_LOCKS } from './leader-lease.ts';

/** A file of the migrations folder. */
export interface Migration {
  /** The name of its file, without `.sql`. */
  readonly tag: string;
  /** When it was generated, epoch milliseconds: migrations are applied in this order. */
  readonly createdAt: number;
  /** SHA-256 of the file, as drizzle's own migrator notes it. */
  readonly hash: string;
  readonly statements: readonly string[];
  /** Its statements build or drop indices concurrently: each runs by itself, outside of a transaction. */
  readonly isConcurrent: boolean;
}

interface Journal {
  readonly entries: readonly { readonly tag: string; readonly when: number }[];
}

/** The migrations of a folder that drizzle-kit wrote, in the order of its journal. */
export function readMigrations(folder: string): Migration[] {
  const journal = JSON.parse(readFileSync(join(folder, 'meta/_journal.json'), 'utf8')) as Journal;
  return journal.entries.map(({ tag, when }) => {
    const text = readFileSync(join(folder, `${tag}.sql`), 'utf8');
    const statements = text.split('--> statement-breakpoint').map((statement) => statement.trim());
    return {
      tag,
      createdAt: when,
      hash: createHash('sha256').update(text).digest('hex'),
      statements,
      isConcurrent: statements.some((statement) => /\bCONCURRENTLY\b/.test(statement)),
    };
  });
}

export const MIGRATIONS = fileURLToPath(new URL('../../migrations', import.meta.url));

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
