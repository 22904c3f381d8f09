import { AppError } from '@tocsin/contracts/errors';
import type { RegionHealth } from '@tocsin/contracts/vocabulary';
import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { lockAssignments } from '../assignments/assignments.ts';
import type { Actor } from '../audit-log/actor.ts';
import { changesOf, recordAudit } from '../audit-log/record-audit.ts';
import type { Database, DbContext, Transaction } from '../database/open.ts';
import { arrayOf, epochMs, query, queryColumn } from '../database/sql.ts';
import { type CheckTarget, loadCheckTargets } from '../monitors/check-targets.ts';
import { UnreadableMonitorError } from '../monitors/monitor-codec.ts';
import { findUnknownMonitors } from '../monitors/monitor-row.ts';
import { IS_LIVE } from './isolations.ts';

/** Joins canaries that their region still checks. */
const currentCanaries = sql`
  region_canaries c join monitor_regions r on r.monitor_id = c.monitor_id and r.region = c.region`;

/** Loads the canaries of an account in a region for a checker. Omits unreadable monitors. */
export async function loadCanaries(
  context: DbContext,
  accountId: string,
  region: string,
): Promise<CheckTarget[]> {
  const ids = await queryColumn(context.db)`
    select c.monitor_id from ${currentCanaries} where c.account_id = ${accountId} and c.region = ${region}`;
  if (ids.length === 0) return [];
  const targets = await loadCheckTargets(context, ids);
  return [...targets.values()].flatMap((target) => (target instanceof UnreadableMonitorError ? [] : target));
}

const regionNetwork = z.object({
  region: z.string(),
  canaryMonitorIds: z.array(z.string()),
  /** Epoch milliseconds. Null if the region is connected. */
  since: z.number().nullable(),
});

/** State of a region's network, as the canaries of an account show it. */
export interface RegionNetwork {
  readonly health: RegionHealth;
  /** Start of the isolation. Null for any other health. */
  readonly since: string | null;
  readonly canaryMonitorIds: readonly string[];
}

/** Reads the regions in which an account has canaries, by code. Every other region has the health `unknown`. */
export async function readRegionNetworks(
  db: Database,
  accountId: string,
): Promise<Map<string, RegionNetwork>> {
  const rows = await query(db, regionNetwork)`
    select c.region, array_agg(c.monitor_id::text order by c.monitor_id) as canary_monitor_ids,
      (select ${epochMs(sql`min(since)`)} from region_isolations i
        where i.account_id = ${accountId} and i.region = c.region and ${IS_LIVE}) as since
    from ${currentCanaries} where c.account_id = ${accountId} group by c.region`;
  return new Map(
    rows.map(({ region, since, canaryMonitorIds }) => {
      const health = since === null ? 'connected' : 'isolated';
      return [
        region,
        { health, since: since === null ? null : new Date(since).toISOString(), canaryMonitorIds },
      ];
    }),
  );
}

const watchedRegion = z.object({ region: z.string(), isolated: z.boolean() });

/** Returns whether each region with canaries is isolated for any account, by code, isolated regions first. */
export async function watchRegionNetworks(db: Database, limit: number): Promise<Map<string, boolean>> {
  const rows = await query(db, watchedRegion)`
    select c.region, bool_or(exists (
      select from region_isolations i
      where i.account_id = c.account_id and i.region = c.region and ${IS_LIVE})) as isolated
    from ${currentCanaries} group by c.region order by isolated desc, c.region limit ${limit}`;
  return new Map(rows.map(({ region, isolated }) => [region, isolated]));
}

/** Replaces the canaries of a region. @throws AppError validation_failed if the region does not check all of them for the account */
export async function setCanaries(
  db: Database,
  actor: Actor,
  region: string,
  monitorIds: readonly string[],
): Promise<void> {
  const { accountId } = actor;
  await db.transaction(async (tx) => {
    // The lock prevents others from deleting a monitor or writing the same canaries.
    await lockAssignments(tx, accountId, 'exclusive');
    await requireCheckedFrom(tx, accountId, region, monitorIds);
    const before = await queryColumn(tx)`
      delete from region_canaries where account_id = ${accountId} and region = ${region} returning monitor_id`;
    await tx.execute(sql`
      insert into region_canaries (account_id, region, monitor_id)
      select ${accountId}, ${region}, unnest(${arrayOf('uuid', monitorIds)})`);
    const after = { canaryMonitorIds: monitorIds.toSorted() };
    const changes = changesOf({ canaryMonitorIds: before.toSorted() }, after);
    if (changes.length === 0) return;
    const target = { type: 'region', id: region, name: region } as const;
    await recordAudit(tx, actor, [{ action: 'region.updated', target, changes }]);
  });
}

async function requireCheckedFrom(
  tx: Transaction,
  accountId: string,
  region: string,
  monitorIds: readonly string[],
): Promise<void> {
  const unknown = new Set(await findUnknownMonitors(tx, accountId, monitorIds));
  const checked = new Set(
    await queryColumn(tx)`
      select monitor_id from monitor_regions
      where region = ${region} and monitor_id = any(${arrayOf('uuid', monitorIds)})`,
  );
  const errors = monitorIds.flatMap((id, index) => {
    if (!unknown.has(id) && checked.has(id)) return [];
    const message = unknown.has(id)
      ? 'is not a monitor of this account'
      : `is not checked from the region "${region}": add the region to the monitor first`;
    return [{ path: `canaryMonitorIds.${index}`, message }];
  });
  if (errors.length === 0) return;
  throw new AppError('validation_failed', 'These fields are invalid: canaryMonitorIds.', { errors });
}
