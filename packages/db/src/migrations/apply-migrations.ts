import { setTimeout as wait } from 'node:timers/promises';
import { DatabaseError, type Client } from 'pg';
import { describeSessions, readBlockingSessions, type BlockingSession } from './blocking-sessions.ts';
import type { Migration } from './read-migrations.ts';

/** How long a migration waits for locks, in milliseconds. */
export interface Patience {
  /**
   * Of a statement in a transaction. Whoever comes after it waits as well, so it is short; and shorter than PostgreSQL's
   * `deadlock_timeout` of a second, so that no transaction of a service is ended for the sake of a migration.
   */
  readonly lockTimeoutMs: number;
  /** Between two tries: everybody else goes on. */
  readonly pauseMs: number;
  /** Of a migration in all. */
  readonly maxWaitMs: number;
}

export const PATIENCE: Patience = { lockTimeoutMs: 500, pauseMs: 5_000, maxWaitMs: 600_000 };

const LOOK_EVERY_MS = 100;

/** A migration that waits for locks which other sessions hold. */
export interface MigrationWait {
  readonly migration: string;
  readonly blockedBy: readonly BlockingSession[];
}

/** The connections of a migration. */
export interface MigrationSessions {
  /** Applies the migrations. */
  readonly client: Client;
  /** Sees what the other one waits for. */
  readonly watcher: Client;
  /** Of the session of `client`. */
  readonly pid: number;
}

export interface ApplyOptions {
  readonly patience: Patience;
  /** Called each time a migration has to wait. */
  readonly onWait: (wait: MigrationWait) => void;
}

/**
 * Applies the migrations that the database does not have yet, in drizzle's bookkeeping. Reading and writing go on meanwhile (ADR 13):
 * a migration in a transaction gives up its place in the queue for a lock after half a second, and is tried again; one that builds
 * indices concurrently runs outside of a transaction.
 * @throws Error where other sessions hold a lock for too long: it names them
 */
export async function applyMigrations(
  sessions: MigrationSessions,
  migrations: readonly Migration[],
  options: ApplyOptions,
): Promise<void> {
  const { client } = sessions;
  await client.query('create schema if not exists drizzle');
  await client.query(`
    create table if not exists drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)`);
  const { rows } = await client.query<{ last: number | null }>(
    'select max(created_at)::float8 as last from drizzle.__drizzle_migrations',
  );
  const last = rows[0]?.last ?? -Infinity;
  for (const migration of migrations.filter(({ createdAt }) => createdAt > last)) {
    if (migration.isConcurrent) await applyConcurrently(sessions, migration, options);
    else await applyInTransaction(sessions, migration, options);
  }
}

async function applyInTransaction(
  sessions: MigrationSessions,
  migration: Migration,
  { patience, onWait }: ApplyOptions,
): Promise<void> {
  const startedAt = performance.now();
  let blockedBy: readonly BlockingSession[] = [];
  for (;;) {
    try {
      const attempt = tryInTransaction(sessions.client, migration, patience);
      await watch(sessions, attempt, (blocking) => (blockedBy = blocking));
      return;
    } catch (error) {
      if (!isBlocked(error)) throw error;
      onWait({ migration: migration.tag, blockedBy });
      if (performance.now() - startedAt >= patience.maxWaitMs)
        throw blockedError(migration, blockedBy, error);
    }
    await wait(patience.pauseMs);
  }
}

async function tryInTransaction(client: Client, migration: Migration, patience: Patience): Promise<void> {
  await client.query('begin');
  try {
    await client.query(`set local lock_timeout = ${patience.lockTimeoutMs}`);
    for (const statement of migration.statements) await client.query(statement);
    await note(client, migration);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

/**
 * Each statement by itself. Nobody waits for one that waits, so it does so in one go. One that was interrupted leaves an invalid
 * index, which is dropped; an index that is there was built before.
 */
async function applyConcurrently(
  sessions: MigrationSessions,
  migration: Migration,
  { patience, onWait }: ApplyOptions,
): Promise<void> {
  const { client, watcher, pid } = sessions;
  for (const statement of migration.statements) {
    let blockedBy: readonly BlockingSession[] = [];
    let reportedAt = -Infinity;
    let isTooLong = false;
    const run = runConcurrently(client, statement);
    try {
      await watch(sessions, run, async (blocking, blockedMs) => {
        blockedBy = blocking;
        isTooLong = blockedMs >= patience.maxWaitMs;
        if (isTooLong) await watcher.query('select pg_cancel_backend($1)', [pid]);
        if (performance.now() - reportedAt < patience.pauseMs) return;
        reportedAt = performance.now();
        onWait({ migration: migration.tag, blockedBy });
      });
    } catch (error) {
      throw isTooLong ? blockedError(migration, blockedBy, error) : error;
    }
  }
  await note(client, migration);
}

async function runConcurrently(client: Client, statement: string): Promise<void> {
  const index = /^CREATE (?:UNIQUE )?INDEX CONCURRENTLY "([^"]+)"/.exec(statement)?.[1];
  if (index !== undefined) {
    const { rows } = await client.query<{ valid: boolean }>(
      'select indisvalid as valid from pg_index where indexrelid = to_regclass($1)',
      [`"${index}"`],
    );
    if (rows[0]?.valid === true) return;
    if (rows[0]?.valid === false) await client.query(`drop index concurrently "${index}"`);
  }
  await client.query(statement);
}

async function note(client: Client, { hash, createdAt }: Migration): Promise<void> {
  await client.query('insert into drizzle.__drizzle_migrations (hash, created_at) values ($1, $2)', [
    hash,
    createdAt,
  ]);
}

/**
 * Waits for the work of the client and looks meanwhile which sessions it waits for. A look that fails is left out.
 * @param onBlocked called every 100 ms while it waits, with how long it has done so without a break, in milliseconds
 */
async function watch(
  { watcher, pid }: MigrationSessions,
  work: Promise<void>,
  onBlocked: (blocking: readonly BlockingSession[], blockedMs: number) => unknown,
): Promise<void> {
  const state = { isRunning: true };
  const ended = work.finally(() => {
    state.isRunning = false;
  });
  ended.catch(() => undefined);
  let freeAt = performance.now();
  while (state.isRunning) {
    try {
      const blocking = await readBlockingSessions(watcher, pid);
      if (blocking.length === 0) freeAt = performance.now();
      else await onBlocked(blocking, performance.now() - freeAt);
    } catch {
      // The work itself says what is wrong, if anything is.
    }
    await Promise.race([ended.catch(() => undefined), wait(LOOK_EVERY_MS)]);
  }
  await ended;
}

/** Whether a statement gave up waiting for a lock, or was chosen to resolve a deadlock. */
function isBlocked(error: unknown): boolean {
  return error instanceof DatabaseError && (error.code === '55P03' || error.code === '40P01');
}

function blockedError(migration: Migration, blockedBy: readonly BlockingSession[], cause: unknown): Error {
  return new Error(
    `Migration ${migration.tag} did not get its locks. They are held by: ${describeSessions(blockedBy)}. ` +
      'Wait for these transactions, or end them with pg_terminate_backend, and run the migration again: it continues where it stopped.',
    { cause },
  );
}
