import { setTimeout as wait } from 'node:timers/promises';
import { type Client, DatabaseError } from 'pg';
import { type BlockingSession, describeSessions, readBlockingSessions } from './blocking-sessions.ts';
import type { Migration } from './migrate.ts';

/** How long a migration waits for locks, in milliseconds. */
export interface Patience {
  /**
   * In one transaction, for all of its locks together, where each has a statement of its own. Whoever comes after it waits as
   * well, so it is short; and shorter than PostgreSQL's `deadlock_timeout` of a second, so that no transaction of a service is
   * ended for the sake of a migration.
   */
  readonly lockTimeoutMs: number;
  /** Between two tries: everybody else goes on. */
  readonly pauseMs: number;
  /** In one run, for all of its migrations together. The Job of the chart has 15 minutes, so an error gets into its log first. */
  readonly maxWaitMs: number;
}

export const PATIENCE: Patience = { lockTimeoutMs: 500, pauseMs: 5_000, maxWaitMs: 600_000 };

const LOOK_EVERY_MS = 100;
/** The part of `lockTimeoutMs` that a lock has at least: long enough to see who holds it. */
const MIN_LOCK_SHARE = 0.2;

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

/** What a migration returned: rows of its `RETURNING` clauses, which say what it deleted. */
export interface MigrationReport {
  readonly migration: string;
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

export interface ApplyOptions {
  readonly patience: Patience;
  /** Called each time a migration has to wait. */
  readonly onWait: (wait: MigrationWait) => void;
  /** Called after the commit of a migration that returned rows. */
  readonly onReport: (report: MigrationReport) => void;
  /** A clock in milliseconds that only moves forward. */
  readonly now: () => number;
  /** Cancels the running statement and ends the run. The next run continues. */
  readonly signal: AbortSignal;
}

/** How long a run has waited so far, in milliseconds. */
export interface Waited {
  ms: number;
}

interface Run extends MigrationSessions, ApplyOptions {
  readonly waited: Waited;
}

/**
 * Applies the migrations that the database does not have yet, in drizzle's bookkeeping. Reading and writing go on meanwhile (ADR 13):
 * a migration in a transaction gives up its place in the queue for a lock after half a second, and is tried again; one that builds
 * indices concurrently runs outside of a transaction.
 * @throws Error where other sessions hold locks for too long: it names them; the reason of the signal, or the error of the
 * canceled statement, where it is aborted
 */
export async function applyMigrations(
  sessions: MigrationSessions,
  migrations: readonly Migration[],
  options: ApplyOptions,
  waited: Waited,
): Promise<void> {
  const { client } = sessions;
  await client.query('create schema if not exists drizzle');
  await client.query(`
    create table if not exists drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)`);
  const { rows } = await client.query<{ last: number | null }>(
    'select max(created_at)::float8 as last from drizzle.__drizzle_migrations',
  );
  const last = rows[0]?.last ?? -Infinity;
  const run: Run = { ...sessions, ...options, waited };
  for (const migration of migrations.filter(({ createdAt }) => createdAt > last)) {
    options.signal.throwIfAborted();
    if (migration.isConcurrent) await applyConcurrently(run, migration);
    else await applyInTransaction(run, migration);
  }
}

async function applyInTransaction(run: Run, migration: Migration): Promise<void> {
  let blockedBy: readonly BlockingSession[] = [];
  for (;;) {
    const triedAt = run.now();
    try {
      const rows = await watch(run, tryInTransaction(run, migration), (blocking) => (blockedBy = blocking));
      if (rows.length > 0) run.onReport({ migration: migration.tag, rows });
      return;
    } catch (error) {
      if (!isBlocked(error)) throw error;
      await waitForNextTry(run, migration, { blockedBy, error, triedAt });
    }
  }
}

/** @returns the rows that its statements returned */
async function tryInTransaction(
  { client, patience, now }: Run,
  migration: Migration,
): Promise<MigrationReport['rows']> {
  const { lockTimeoutMs } = patience;
  await client.query('begin');
  try {
    const rows: Record<string, unknown>[] = [];
    const startedAt = now();
    for (const statement of migration.statements) {
      const leftMs = Math.max(lockTimeoutMs - (now() - startedAt), MIN_LOCK_SHARE * lockTimeoutMs);
      await client.query(`set local lock_timeout = ${Math.ceil(leftMs)}`);
      rows.push(...(await client.query<Record<string, unknown>>(statement)).rows);
    }
    await note(client, migration);
    await client.query('commit');
    return rows;
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

/**
 * Each statement by itself. Nobody waits for one that waits, so it does so in one go. One that was interrupted leaves an invalid
 * index, which is dropped; an index that is there was built before. So a statement that was ended by a deadlock is run again.
 */
async function applyConcurrently(run: Run, migration: Migration): Promise<void> {
  const { client, watcher, pid, patience, onWait, now, waited } = run;
  for (const statement of migration.statements) {
    let blockedBy: readonly BlockingSession[] = [];
    let reportedAt = -Infinity;
    let isTooLong = false;
    for (let isDone = false; !isDone;) {
      const triedAt = now();
      try {
        await watch(run, runConcurrently(client, statement), async (blocking, blockedMs) => {
          blockedBy = blocking;
          waited.ms += blockedMs;
          isTooLong = waited.ms >= patience.maxWaitMs;
          // Only while it still waits: it may have got its lock since the last look.
          if (isTooLong)
            await watcher.query(
              'select pg_cancel_backend($1::int) where cardinality(pg_blocking_pids($1::int)) > 0',
              [pid],
            );
          if (now() - reportedAt < patience.pauseMs) return;
          reportedAt = now();
          onWait({ migration: migration.tag, blockedBy });
        });
        isDone = true;
      } catch (error) {
        if (isTooLong && isCanceled(error)) throw blockedError(migration, blockedBy, error);
        if (!isBlocked(error)) throw error;
        await waitForNextTry(run, migration, { blockedBy, error, triedAt });
      }
    }
  }
  await note(client, migration);
}

/**
 * Everybody else goes on meanwhile.
 * @param failed when the last try began, by the clock of the run, and how it ended
 * @throws Error where the run has waited for too long; the reason of the signal
 */
async function waitForNextTry(
  { patience, onWait, now, signal, waited }: Run,
  migration: Migration,
  failed: { blockedBy: readonly BlockingSession[]; error: unknown; triedAt: number },
): Promise<void> {
  const { blockedBy, error, triedAt } = failed;
  onWait({ migration: migration.tag, blockedBy });
  if (waited.ms >= patience.maxWaitMs) throw blockedError(migration, blockedBy, error);
  await wait(patience.pauseMs, undefined, { signal });
  waited.ms += now() - triedAt;
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
 * Waits for the work of the client and looks meanwhile which sessions it waits for. A look that fails is left out. Once the signal
 * is aborted, every statement of the work is canceled: the server would go on with it after the client has left.
 * @param onBlocked called every 100 ms while it waits, with how long it has waited since the look before, in milliseconds
 */
async function watch<Result>(
  { watcher, pid, now, signal }: Run,
  work: Promise<Result>,
  onBlocked: (blocking: readonly BlockingSession[], blockedMs: number) => unknown,
): Promise<Result> {
  const state = { isRunning: true };
  const ended = work.finally(() => {
    state.isRunning = false;
  });
  ended.catch(() => undefined);
  let blockedSince: number | null = null;
  while (state.isRunning) {
    try {
      if (signal.aborted) await watcher.query('select pg_cancel_backend($1)', [pid]);
      const blocking = await readBlockingSessions(watcher, pid);
      const seenAt = now();
      if (blocking.length > 0) await onBlocked(blocking, seenAt - (blockedSince ?? seenAt));
      blockedSince = blocking.length > 0 ? seenAt : null;
    } catch {
      // The work itself says what is wrong, if anything is.
    }
    await Promise.race([ended.catch(() => undefined), wait(LOOK_EVERY_MS)]);
  }
  return ended;
}

/** Whether a statement gave up waiting for a lock, or was chosen to resolve a deadlock. */
function isBlocked(error: unknown): boolean {
  return error instanceof DatabaseError && (error.code === '55P03' || error.code === '40P01');
}

/** Whether a statement was canceled. */
function isCanceled(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '57014';
}

function blockedError(migration: Migration, blockedBy: readonly BlockingSession[], cause: unknown): Error {
  return new Error(
    `Migration ${migration.tag} did not get its locks. They are held by: ${describeSessions(blockedBy)}. ` +
      'Wait for these transactions, or end them with pg_terminate_backend, and run the migration again: it continues where it stopped.',
    { cause },
  );
}
