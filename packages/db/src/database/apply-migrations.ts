import { setTimeout as wait } from 'node:timers/promises';
import { drizzle } from 'drizzle-orm/node-postgres';
import { type Client, DatabaseError } from 'pg';
import { z } from 'zod';
import { type BlockingSession, describeSessions, readBlockingSessions } from './blocking-sessions.ts';
import type { Migration } from './read-migrations.ts';
import { query } from './sql.ts';

/** How long a migration waits for locks, in milliseconds. */
export interface Patience {
  /**
   * In one transaction, for all of its locks together, where each lock has a statement of its own. Other sessions queue behind it, so it
   * is short. It is shorter than PostgreSQL's `deadlock_timeout` of a second, so that a migration never ends a service's transaction.
   */
  readonly lockTimeoutMs: number;
  /** Between two tries, while other sessions proceed. */
  readonly pauseMs: number;
  /** In one run, for all of its migrations together. The Job of the chart has 15 minutes, so its log contains the error. */
  readonly maxWaitMs: number;
}

export const PATIENCE: Patience = { lockTimeoutMs: 500, pauseMs: 5_000, maxWaitMs: 600_000 };

const POLL_MS = 100;
/** The part of `lockTimeoutMs` that a lock has at least: long enough to see which session holds it. */
const MIN_LOCK_SHARE = 0.2;

/** A migration that waits for locks of other sessions. */
export interface MigrationWait {
  readonly migration: string;
  readonly blockedBy: readonly BlockingSession[];
}

/** The rows that the `RETURNING` clauses of a migration returned: what it deleted. */
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

/** One run of a migrator. */
export interface MigrationRun extends ApplyOptions {
  /** Applies the migrations. */
  readonly client: Client;
  /** Another connection, which sees what `client` waits for. */
  readonly watcher: Client;
  /** Of the session of `client`. */
  readonly pid: number;
  /** How long the run has waited so far, in milliseconds. */
  waitedMs: number;
}

/**
 * Applies the migrations that the database does not have yet, with drizzle's bookkeeping. Services keep reading and writing (ADR 13): a
 * migration in a transaction releases its locks if it cannot get all of them within half a second, and is tried again; one that builds
 * indices concurrently runs outside of a transaction.
 * @throws Error if other sessions hold locks for too long: it names them; if an earlier build made the database; the reason of the signal,
 * or the error of the canceled statement
 */
export async function applyMigrations(run: MigrationRun, migrations: readonly Migration[]): Promise<void> {
  const { client, signal } = run;
  await client.query('create schema if not exists drizzle');
  await client.query(`
    create table if not exists drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)`);
  const last = await readLastApplied(client, migrations);
  for (const migration of migrations.filter(({ createdAt }) => createdAt > last)) {
    signal.throwIfAborted();
    if (migration.isConcurrent) await applyConcurrently(run, migration);
    else await applyInTransaction(run, migration);
  }
}

const appliedRow = z.object({ createdAt: z.number() });

/**
 * When the newest applied migration was generated. A newer version may have added migrations that this one does not know. Any other
 * unknown migration belongs to a history that this version does not continue. The time identifies a migration, since a checkout may
 * change line endings, and so hashes.
 * @throws Error if an earlier build made the database
 */
async function readLastApplied(client: Client, migrations: readonly Migration[]): Promise<number> {
  const rows = await query(drizzle(client), appliedRow)`
    select created_at::float8 as "createdAt" from drizzle.__drizzle_migrations`;
  const applied = rows.map(({ createdAt }) => createdAt);
  const known = new Set(migrations.map(({ createdAt }) => createdAt));
  const newest = Math.max(...known);
  if (applied.some((createdAt) => createdAt <= newest && !known.has(createdAt))) {
    throw new Error(
      'An earlier build of Tocsin made this database, and this version cannot upgrade its schema. ' +
        'Nothing was changed. Create an empty database for this version, or keep running the earlier build.',
    );
  }
  return Math.max(-Infinity, ...applied);
}

async function applyInTransaction(run: MigrationRun, migration: Migration): Promise<void> {
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
  { client, patience, now }: MigrationRun,
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
 * Each statement by itself, without a limit for its locks: no other session waits for one that waits. An interrupted statement leaves an
 * invalid index, which is dropped; a valid index was built before. So a statement that a deadlock ended is run again.
 */
async function applyConcurrently(run: MigrationRun, migration: Migration): Promise<void> {
  const { client, watcher, pid, patience, onWait, now } = run;
  for (const statement of migration.statements) {
    let blockedBy: readonly BlockingSession[] = [];
    let reportedAt = -Infinity;
    let isTooLong = false;
    for (let isDone = false; !isDone;) {
      const triedAt = now();
      try {
        await watch(run, runConcurrently(client, statement), async (blocking, blockedMs) => {
          blockedBy = blocking;
          run.waitedMs += blockedMs;
          isTooLong = run.waitedMs >= patience.maxWaitMs;
          // Only while it still waits: it may have got its lock since the last poll.
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
 * @param failed when the last try began, by the clock of the run, and how it ended
 * @throws Error if the run has waited for too long; the reason of the signal
 */
async function waitForNextTry(
  run: MigrationRun,
  migration: Migration,
  failed: { blockedBy: readonly BlockingSession[]; error: unknown; triedAt: number },
): Promise<void> {
  const { patience, onWait, now, signal } = run;
  const { blockedBy, error, triedAt } = failed;
  onWait({ migration: migration.tag, blockedBy });
  if (run.waitedMs >= patience.maxWaitMs) throw blockedError(migration, blockedBy, error);
  await wait(patience.pauseMs, undefined, { signal });
  run.waitedMs += now() - triedAt;
}

const indexState = z.object({ valid: z.boolean() });

async function runConcurrently(client: Client, statement: string): Promise<void> {
  const index = /^CREATE (?:UNIQUE )?INDEX CONCURRENTLY "([^"]+)"/.exec(statement)?.[1];
  if (index !== undefined) {
    const [state] = await query(drizzle(client), indexState)`
      select indisvalid as valid from pg_index where indexrelid = to_regclass(${`"${index}"`})`;
    if (state?.valid === true) return;
    if (state?.valid === false) await client.query(`drop index concurrently "${index}"`);
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
 * Waits for the work of the client, and polls which sessions it waits for. A poll that fails is skipped. Once the signal is aborted, every
 * statement of the work is canceled: the server would continue it after the client has left.
 * @param onBlocked called every 100 ms while it waits, with the time since the poll before, in milliseconds
 */
async function watch<Result>(
  { watcher, pid, now, signal }: MigrationRun,
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
      // The work itself fails if anything is wrong.
    }
    await Promise.race([ended.catch(() => undefined), wait(POLL_MS)]);
  }
  return ended;
}

/** Whether a statement timed out waiting for a lock, or was canceled to resolve a deadlock. */
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
