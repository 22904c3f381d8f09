import { AppError } from '@tocsin/contracts/errors';
import { LIMITS } from '@tocsin/contracts/limits';
import { sql, type SQL } from 'drizzle-orm';
import { z } from 'zod';
import { ADVISORY_LOCKS } from '../database/leader-lease.ts';
import type { Transaction } from '../database/open.ts';
import { arrayOf, queryOne } from '../database/sql.ts';

/* Which monitors a channel or a maintenance window has (ADR 17). `match-selectors.ts` writes those that it has by its selector. */

/** The tables of assignments, and what a row assigns a monitor to. */
export const TABLES = {
  channel: { table: sql.raw('channel_monitors'), owner: sql.raw('channel_id') },
  window: { table: sql.raw('maintenance_window_monitors'), owner: sql.raw('window_id') },
} as const;
export type Kind = keyof typeof TABLES;

/** Rows that the maintenance clock deletes of windows that have ended; `repairMatches` deletes the rest. */
const MAX_DELETED = 5_000;

/**
 * The condition for a channel or a window that has every monitor of its account, so that no row says which. It is not true, but may be
 * null, for others. A selector without conditions selects everything.
 * @param alias of its table in the statement
 */
export function selectsAll(kind: Kind, alias: string): SQL {
  const isEmpty = `${alias}.selector <@ '{"matchLabels": {}, "matchExpressions": []}'::jsonb`;
  const isAll = `(${alias}.all_monitors or ${isEmpty})`;
  return sql.raw(kind === 'channel' ? isAll : `(${alias}.sources is null and ${isAll})`);
}

/**
 * Locks the assignments of an account until the transaction ends. Every transaction that changes them does so before it locks a row.
 * `shared`: to create, relabel or delete monitors, whose rows it then locks. `exclusive`: to change what a channel or a window is
 * assigned to. So neither misses what the other writes, and no two deadlock.
 */
export async function lockAssignments(
  tx: Transaction,
  accountId: string,
  mode: 'shared' | 'exclusive',
): Promise<void> {
  const lock = sql.raw(mode === 'shared' ? 'pg_advisory_xact_lock_shared' : 'pg_advisory_xact_lock');
  await tx.execute(sql`select ${lock}(${ADVISORY_LOCKS.assignments}, hashtext(${accountId}))`);
}

const countRow = z.object({ used: z.number(), added: z.boolean() });

/**
 * Requires that a transaction does not give an account too many assignments: requests and maintenance tasks that read or replace all of them
 * stay short. An account that has too many may remove some. Windows that have ended do not count. Call it after the assignments are written.
 * @param isPlannedAgain a window that had ended has its assignments again
 * @throws AppError quota_exceeded
 */
export async function requireAssignmentQuota(
  tx: Transaction,
  accountId: string,
  isPlannedAgain = false,
): Promise<void> {
  const isAdded = sql`coalesce(bool_or(a.xmin = pg_current_xact_id()::xid), false) as added`;
  const { used, added } = await queryOne(tx, countRow)`
    select sum(one.used)::int as used, bool_or(one.added) as added from (
      select count(*) as used, ${isAdded}
      from channels c join channel_monitors a on a.channel_id = c.id where c.account_id = ${accountId}
      union all
      select count(*), ${isAdded}
      from maintenance_windows w join maintenance_window_monitors a on a.window_id = w.id
      where w.account_id = ${accountId} and w.state <> 'ended') one`;
  if (used > LIMITS.assignments && (added || isPlannedAgain)) throw tooManyAssignments(used);
}

/** The error of a request after which an account would have this many assignments, or more. */
export function tooManyAssignments(used: number): AppError {
  const limit = LIMITS.assignments;
  return new AppError(
    'quota_exceeded',
    `The channels and maintenance windows of an account can have at most ${limit} assignments of monitors, by lists and selectors together. Use allMonitors, or a selector without conditions, for those that have every monitor: they need none.`,
    { quota: { quota: 'assignments', limit, used } },
  );
}

/**
 * Deletes the matches of windows that have just ended, so that rows of many short windows do not pile up. If such a window is planned
 * again, it is matched again. Needs no lock of the assignments, and waits for none: it skips rows that another transaction is changing.
 */
export async function deleteWindowMatches(tx: Transaction, windowIds: readonly string[]): Promise<void> {
  if (windowIds.length === 0) return;
  await tx.execute(sql`
    with matches as (
      select window_id, monitor_id from maintenance_window_monitors
      where window_id = any(${arrayOf('uuid', windowIds)}) and not listed
      limit ${MAX_DELETED} for update skip locked
    )
    delete from maintenance_window_monitors a using matches m
    where a.window_id = m.window_id and a.monitor_id = m.monitor_id`);
}

/** Makes these the monitors that a channel or a window lists by their ids; unknown ones are left out. Requires the exclusive lock. */
export async function listMonitorsOf(
  tx: Transaction,
  accountId: string,
  kind: Kind,
  id: string,
  monitorIds: readonly string[],
): Promise<void> {
  const { table, owner } = TABLES[kind];
  const ids = arrayOf('uuid', monitorIds);
  const isUnlisted = sql`${owner} = ${id} and listed and monitor_id <> all(${ids})`;
  await tx.execute(sql`delete from ${table} where ${isUnlisted} and not matched`);
  await tx.execute(sql`update ${table} set listed = false where ${isUnlisted}`);
  await tx.execute(sql`
    insert into ${table} as a (${owner}, monitor_id)
    select ${id}, m.id from monitors m where m.account_id = ${accountId} and m.id = any(${ids})
    on conflict (${owner}, monitor_id) do update set listed = true where not a.listed`);
}
