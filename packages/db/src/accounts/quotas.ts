import { AppError } from '@tocsin/contracts/errors';
import type { Quota, Quotas } from '@tocsin/contracts/accounts/account';
import { eq, type SQL, sql } from 'drizzle-orm';
import { z } from 'zod';
import { requireFound } from '../database/errors.ts';
import type { DbContext, Queryable } from '../database/open.ts';
import { queryOne } from '../database/sql.ts';
import { accounts } from '../users/table.ts';

/** Where resources are created. */
export interface WriteContext extends DbContext {
  /** Quotas of accounts without their own. Absent for tools that fill a database without limits. */
  readonly quotas?: Quotas | undefined;
  /** Regions that monitors may name besides agent regions. Null or absent allows any. */
  readonly settings?:
    { readonly defaultRegion: string; readonly regions: readonly string[] | null } | undefined;
}

/** Additions to the usage of an account. An addition of 0 or less is not checked, so an account above a quota can still reduce its usage. */
export type Growth = Readonly<Partial<Record<Exclude<Quota, 'regions'>, number>>> & {
  /** Regions that the changed monitors did not name before, and new agent regions. */
  readonly regions?: Iterable<string>;
};

interface Scheduled {
  readonly intervalSeconds: number;
  readonly regions: readonly string[];
}

/** Returns the additions by a change. @param after the monitors after the change @param before the same monitors before it, and deleted ones */
export function monitorGrowth(after: readonly Scheduled[], before: readonly Scheduled[] = []): Growth {
  const rateOf = (monitors: readonly Scheduled[]): number =>
    monitors.reduce((sum, each) => sum + (60 / each.intervalSeconds) * Math.max(1, each.regions.length), 0);
  const regions = new Set(after.flatMap((monitor) => monitor.regions));
  for (const region of before.flatMap((monitor) => monitor.regions)) regions.delete(region);
  return {
    monitors: after.length - before.length,
    // Sums in another order may differ in the last digits.
    checksPerMinute: Math.round((rateOf(after) - rateOf(before)) * 1_000) / 1_000,
    regions,
  };
}

/** Counts what an account has, by quota. */
export const USAGE: Readonly<Record<Quota, (accountId: SQL) => SQL>> = {
  monitors: (id) => sql`select count(*)::float8 from monitors where account_id = ${id}`,
  channels: (id) =>
    sql`select count(*)::float8 from channels where account_id = ${id} and deleted_at is null`,
  maintenanceWindows: (id) =>
    sql`select count(*)::float8 from maintenance_windows where account_id = ${id} and state <> 'ended'`,
  regions: (id) => sql`
    select count(*)::float8 from (
      select unnest(regions) from monitors where account_id = ${id}
      union select code from agent_regions where account_id = ${id}) one`,
  checksPerMinute: (id) => sql`
    select round(coalesce(sum(60.0 / interval_seconds * greatest(1, cardinality(regions))), 0), 1)::float8
    from monitors where account_id = ${id}`,
};

const NOUNS: Readonly<Record<Quota, string>> = {
  monitors: 'monitors',
  channels: 'channels',
  maintenanceWindows: 'scheduled or running maintenance windows',
  regions: 'regions',
  checksPerMinute: 'scheduled checks per minute',
};

const usedRow = z.object({ used: z.number() });

/**
 * Refuses a write that exceeds a quota of the account. Call it after the write and after `recordAudit`, so that no other transaction of the
 * account writes at the same time. @param when `planned` for a write that is only previewed @throws AppError quota_exceeded
 */
export async function requireQuotas(
  db: Queryable,
  accountId: string,
  { quotas: defaults }: Pick<WriteContext, 'quotas'>,
  growth: Growth,
  when: 'written' | 'planned' = 'written',
): Promise<void> {
  const id = sql`${accountId}`;
  const grown: Quota[] = (['monitors', 'channels', 'maintenanceWindows', 'checksPerMinute'] as const).filter(
    (quota) => (growth[quota] ?? 0) > 0,
  );
  const regions = [...(growth.regions ?? [])];
  if (regions.length > 0) grown.push('regions');
  if (grown.length === 0) return;
  const { quotas, deletedAt } = accounts;
  const found = await db.select({ quotas, deletedAt }).from(accounts).where(eq(accounts.id, accountId));
  const account = requireFound(found, 'account');
  if (account.deletedAt !== null) throw new AppError('gone', 'This account was deleted.');
  for (const quota of grown) {
    const limit = account.quotas[quota] ?? defaults?.[quota] ?? Infinity;
    if (quota === 'checksPerMinute' && limit === 0) continue;
    const usage = await queryOne(db, usedRow)`select (${USAGE[quota](id)}) as used`;
    // Regions that a plan no longer names are not counted, so only the write itself checks them.
    const planned = when === 'planned' && quota !== 'regions' ? (growth[quota] ?? 0) : 0;
    const used = usage.used + planned;
    if (used > limit) throw quotaExceeded(quota, limit, used);
  }
}

function quotaExceeded(quota: Quota, limit: number, used: number): AppError {
  return new AppError(
    'quota_exceeded',
    `The quota of this account for ${NOUNS[quota]} is ${limit}. With this request, it would have ${used}. An operator can raise the quota.`,
    { quota: { quota, limit, used } },
  );
}
