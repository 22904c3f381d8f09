import { AppError } from '@tocsin/contracts/errors';
import { LIMITS } from '@tocsin/contracts/limits';
import { sql, type SQL } from 'drizzle-orm';
import { z } from 'zod';
import { ADVISORY_LOCKS } from '../database/leader-lease.ts';
import type { Transaction } from '../database/open.ts';
import { arrayOf, queryOne } from '../database/sql.ts';

/* Assignments of monitors to channels and maintenance windows (ADR 17). `match-selectors.ts` writes those by selector. */

/** Tables of assignments, with the column of the channel or window. */
export const TABLES = {
  channel: { table: sql.raw('channel_monitors'), owner: sql.raw('channel_id') },
  window: { table: sql.raw('maintenance_window_monitors'), owner: sql.raw('window_id') },
} as const;
export type Kind = keyof typeof TABLES;

/** Maximum rows of ended windows that the maintenance clock deletes. `deleteFinished` deletes the rest. */
const MAX_DELETED = 5_000;

/** Condition that a channel or window covers every monitor of its account, so that no rows list the monitors. False or null for others. */
export function selectsAll(kind: Kind, alias: string): SQL {
  const isEmpty = `${alias}.selector <@ '{"matchLabels": {}, "matchExpressions": []}'::jsonb`;
  const isAll = `(${alias}.all_monitors or ${isEmpty})`;
  return sql.raw(kind === 'channel' ? isAll : `(${alias}.sources is null and ${isAll})`);
}

/**
 * Locks the assignments of an account. Every transaction that changes assignments does so before it locks rows, so that none misses what
 * another writes, and no two deadlock. `shared` allows creating, relabeling and deleting monitors. `exclusive` allows changing what a channel
 * or a window is assigned to.
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
 * Limits the assignments of an account, so that reading or replacing all of them stays fast. An account above the limit may still remove
 * some. Ended windows do not count. Call it after the assignments are written. @throws AppError quota_exceeded
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

/** Returns the error for an account that would have at least this many assignments. */
export function tooManyAssignments(used: number): AppError {
  const limit = LIMITS.assignments;
  return new AppError(
    'quota_exceeded',
    `The channels and maintenance windows of an account can have at most ${limit} assignments of monitors, by lists and selectors together. A channel or window with every monitor needs none if it uses allMonitors or a selector without conditions.`,
    { quota: { quota: 'assignments', limit, used } },
  );
}

/** Deletes the matches of windows that have just ended. Needs no lock of the assignments, because it skips rows that others are changing. */
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

/** Replaces the monitors that a channel or a window lists by id. Ignores unknown ids. Requires the exclusive lock. */
export async function listMonitorsOf(
  tx: Transaction,
  accountId: string,
  kind: Kind,
  id: string,
  monitorIds: readonly string[],
): Promise<boolean> {
  const { table, owner } = TABLES[kind];
  const ids = arrayOf('uuid', monitorIds);
  const isUnlisted = sql`${owner} = ${id} and listed and monitor_id <> all(${ids})`;
  const changes = [
    await tx.execute(sql`delete from ${table} where ${isUnlisted} and not matched`),
    await tx.execute(sql`update ${table} set listed = false where ${isUnlisted}`),
    await tx.execute(sql`
      insert into ${table} as a (${owner}, monitor_id)
      select ${id}, m.id from monitors m where m.account_id = ${accountId} and m.id = any(${ids})
      on conflict (${owner}, monitor_id) do update set listed = true where not a.listed`),
  ];
  return changes.some(({ rowCount }) => (rowCount ?? 0) > 0);
}
