import { setTimeout as wait } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { type Client, DatabaseError } from 'pg';
import { z } from 'zod';
import type { Migration } from './read-migrations.ts';
import { epochMs, query } from './sql.ts';

/** Times that a migration waits for locks, in milliseconds (ADR 13). */
export const PATIENCE = {
  /** Limit for all locks of a transaction. Below `deadlock_timeout` (1 s), so that a migration never ends a service's transaction. */
  lockTimeoutMs: 500,
  /** Pause between two attempts, in which other sessions proceed. */
  pauseMs: 5_000,
  /** Limit for all migrations of a run. Below the 15 minutes of the chart's Job, so that the log of the Job contains the error. */
  maxWaitMs: 600_000,
};

const POLL_MS = 100;
/** Minimum share of `lockTimeoutMs` for each lock, so that the watcher sees which session holds it. */
const MIN_LOCK_SHARE = 0.2;

export interface MigrationWait {
  readonly migration: string;
  readonly blockedBy: readonly BlockingSession[];
}

type Rows = readonly Readonly<Record<string, unknown>>[];

/** Rows returned by the `RETURNING` clauses of a migration, which tell what it deleted. */
export interface MigrationReport {
  readonly migration: string;
  readonly rows: Rows;
}

export interface ApplyOptions {
  readonly patience: Readonly<typeof PATIENCE>;
  readonly onWait: (wait: MigrationWait) => void;
  readonly onReport: (report: MigrationReport) => void;
  readonly now: () => number;
  /** Cancels the running statement and ends the run. The next run continues. */
  readonly signal: AbortSignal;
}

export interface MigrationRun extends ApplyOptions {
  readonly client: Client;
  /** A second connection, which shows what `client` waits for. */
  readonly watcher: Client;
  readonly pid: number;
  waitedMs: number;
}

/**
 * Applies missing migrations while services read and write (ADR 13). @throws Error if other sessions hold locks for too long, or an earlier
 * build made the database. Once the signal is aborted, throws its reason or the error of the canceled statement
 */
export async function applyMigrations(run: MigrationRun, migrations: readonly Migration[]): Promise<void> {
  const { client, signal, onReport } = run;
  await client.query('create schema if not exists drizzle');
  await client.query(`
    create table if not exists drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)`);
  const last = await readLastApplied(client, migrations);
  for (const migration of migrations.filter(({ createdAt }) => createdAt > last)) {
    signal.throwIfAborted();
    if (migration.isConcurrent) {
      for (const statement of migration.statements) {
        await retryWhileBlocked(run, migration, () => runConcurrently(client, statement));
      }
      await recordMigration(client, migration);
    } else {
      const rows = await retryWhileBlocked(run, migration, () => runInTransaction(run, migration));
      if (rows.length > 0) onReport({ migration: migration.tag, rows });
    }
  }
}

/**
 * Returns when the newest applied migration was generated. That time identifies it, because line endings may change its hash. Newer
 * migrations are allowed. @throws Error if another unknown migration was applied, because this version cannot continue its history
 */
async function readLastApplied(client: Client, migrations: readonly Migration[]): Promise<number> {
  const rows = await query(drizzle(client), z.object({ createdAt: z.number() }))`
    select created_at::float8 as created_at from drizzle.__drizzle_migrations`;
  const known = new Set(migrations.map(({ createdAt }) => createdAt));
  const newest = Math.max(...known);
  if (rows.some(({ createdAt }) => createdAt <= newest && !known.has(createdAt))) {
    throw new Error(
      'An earlier build of Tocsin made this database, and this version cannot upgrade its schema. ' +
        'Nothing was changed. Create an empty database for this version (`npm start`: delete its data folder, or set ' +
        'DATA_DIR to another one), or keep running the earlier build.',
    );
  }
  return Math.max(-Infinity, ...rows.map(({ createdAt }) => createdAt));
}

/** Repeats work that timed out waiting for a lock or was ended by a deadlock. @throws Error if the run has waited for too long */
async function retryWhileBlocked<Result>(
  run: MigrationRun,
  { tag, isConcurrent }: Migration,
  work: () => Promise<Result>,
): Promise<Result> {
  const { watcher, pid, patience, onWait, now, signal } = run;
  let blockedBy: readonly BlockingSession[] = [];
  let reportedAt = -Infinity;
  let isTooLong = false;
  for (;;) {
    const triedAt = now();
    try {
      return await watch(run, work(), async (blocking, blockedMs) => {
        blockedBy = blocking;
        // The lock timeout ends the wait of a transaction.
        if (!isConcurrent) return;
        run.waitedMs += blockedMs;
        isTooLong = run.waitedMs >= patience.maxWaitMs;
        // Cancels only a client that is still waiting, because it may have got its lock since the last poll.
        const cancel = 'select pg_cancel_backend($1::int) where cardinality(pg_blocking_pids($1::int)) > 0';
        if (isTooLong) await watcher.query(cancel, [pid]);
        if (now() - reportedAt < patience.pauseMs) return;
        reportedAt = now();
        onWait({ migration: tag, blockedBy });
      });
    } catch (error) {
      const code = error instanceof DatabaseError ? error.code : undefined;
      const isBlocked = code === LOCK_TIMEOUT || code === DEADLOCK || (isTooLong && code === CANCELED);
      if (!isBlocked) throw error;
      onWait({ migration: tag, blockedBy });
      if (run.waitedMs >= patience.maxWaitMs) throw blockedError(tag, blockedBy, error);
      await wait(patience.pauseMs, undefined, { signal });
      run.waitedMs += now() - triedAt;
    }
  }
}

const LOCK_TIMEOUT = '55P03';
const DEADLOCK = '40P01';
const CANCELED = '57014';

async function runInTransaction(
  { client, patience: { lockTimeoutMs }, now }: MigrationRun,
  migration: Migration,
): Promise<Rows> {
  await client.query('begin');
  try {
    const rows: Record<string, unknown>[] = [];
    const startedAt = now();
    for (const statement of migration.statements) {
      const leftMs = Math.max(lockTimeoutMs - (now() - startedAt), MIN_LOCK_SHARE * lockTimeoutMs);
      await client.query(`set local lock_timeout = ${Math.ceil(leftMs)}`);
      rows.push(...(await client.query<Record<string, unknown>>(statement)).rows);
    }
    await recordMigration(client, migration);
    await client.query('commit');
    return rows;
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

/** Drops the invalid index of an interrupted build, and keeps a valid one. */
async function runConcurrently(client: Client, statement: string): Promise<void> {
  const index = /^CREATE (?:UNIQUE )?INDEX CONCURRENTLY "([^"]+)"/.exec(statement)?.[1];
  if (index !== undefined) {
    const [state] = await query(drizzle(client), z.object({ valid: z.boolean() }))`
      select indisvalid as valid from pg_index where indexrelid = to_regclass(${`"${index}"`})`;
    if (state?.valid === true) return;
    if (state?.valid === false) await client.query(`drop index concurrently "${index}"`);
  }
  await client.query(statement);
}

async function recordMigration(client: Client, { hash, createdAt }: Migration): Promise<void> {
  const insert = 'insert into drizzle.__drizzle_migrations (hash, created_at) values ($1, $2)';
  await client.query(insert, [hash, createdAt]);
}

/**
 * Waits for the client's work, and polls which sessions block it. An aborted signal cancels every statement, because the server would
 * continue it. @param onBlocked called every 100 ms while blocked, with the milliseconds since the previous poll
 */
async function watch<Result>(
  { watcher, pid, now, signal }: MigrationRun,
  work: Promise<Result>,
  onBlocked: (blocking: readonly BlockingSession[], blockedMs: number) => Promise<void>,
): Promise<Result> {
  const state = { isRunning: true };
  const ended = work.finally(() => (state.isRunning = false)).catch(() => undefined);
  let blockedSince: number | null = null;
  while (state.isRunning) {
    try {
      if (signal.aborted) await watcher.query('select pg_cancel_backend($1)', [pid]);
      const blocking = await readBlockingSessions(watcher, pid);
      const seenAt = now();
      if (blocking.length > 0) await onBlocked(blocking, seenAt - (blockedSince ?? seenAt));
      blockedSince = blocking.length > 0 ? seenAt : null;
    } catch {
      // If polling fails, the work itself fails too.
    }
    await Promise.race([ended, wait(POLL_MS)]);
  }
  return work;
}

const blockingSession = z.object({
  pid: z.number(),
  application: z
    .string()
    .nullable()
    .transform((name) => name ?? ''),
  /** State as in `pg_stat_activity`, such as `idle in transaction`. Null if it is hidden. */
  state: z.string().nullable(),
  /** Start of the session's transaction, ISO 8601. Null without one. */
  transactionSince: z
    .number()
    .nullable()
    .transform((time) => time && new Date(time).toISOString()),
});

/** A session that holds a lock for which another one waits. */
type BlockingSession = Readonly<z.output<typeof blockingSession>>;

async function readBlockingSessions(watcher: Client, pid: number): Promise<BlockingSession[]> {
  return query(drizzle(watcher), blockingSession)`
    select b.pid, a.application_name as application, a.state, ${epochMs(sql`a.xact_start`)} as transaction_since
    from (select distinct unnest(pg_blocking_pids(${pid})) as pid) b left join pg_stat_activity a on a.pid = b.pid order by b.pid`;
}

function blockedError(tag: string, blockedBy: readonly BlockingSession[], cause: unknown): Error {
  const sessions = blockedBy.map(({ pid, application, state, transactionSince }) =>
    [`session ${pid}`, application, state, transactionSince && `transaction since ${transactionSince}`]
      .filter(Boolean)
      .join(', '),
  );
  const holders = sessions.length > 0 ? sessions.join('; ') : 'sessions that have ended meanwhile';
  return new Error(
    `Migration ${tag} did not get its locks. They are held by: ${holders}. ` +
      'Wait for these transactions, or end them with pg_terminate_backend, and run the migration again. It continues where it stopped.',
    { cause },
  );
}
