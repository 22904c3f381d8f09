import { MONITOR_STATUSES } from '@tocsin/contracts/vocabulary';
import type { RegionState } from '@tocsin/core/status/apply-check';
import { MonitorClock } from '@tocsin/core/status/monitor-clock';
import type { MonitorDraft } from '@tocsin/core/status/monitor-draft';
import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Transaction } from '../database/open.ts';
import { PREPARE } from '../database/preparing-client.ts';
import { arrayOf, epochMs, query, inOneRoundTrip } from '../database/sql.ts';
import { HAS_BEGUN, readCovered } from '../maintenance-windows/coverage.ts';
import { REGION_STATE_COLUMNS, toRegionState } from '../monitor-regions/read-regions.ts';
import { monitorRegions } from '../monitor-regions/table.ts';

const monitorState = z.object({
  id: z.string(),
  accountId: z.string(),
  name: z.string(),
  runbookUrl: z.string().nullable(),
  namedRegions: z.array(z.string()),
  status: z.enum(MONITOR_STATUSES),
  enabled: z.boolean(),
  statusBeforeMaintenance: z.enum(['PENDING', 'UP', 'DOWN']).nullable(),
  errorDetail: z.string().nullable(),
  failureThreshold: z.number(),
  recoveryThreshold: z.number(),
  intervalSeconds: z.number(),
  timeoutSeconds: z.number(),
  retryIntervalSeconds: z.number().nullable(),
  revision: z.number(),
  probeRevision: z.number(),
  lastTimestamp: z.number().nullable(),
  checkedBefore: z.number().nullable(),
  changedSince: z.boolean(),
  now: z.number(),
  mayBeCovered: z.boolean(),
});

/** A locked monitor. `writeStatuses` writes what the transaction decides about it. */
export interface LockedMonitor extends MonitorDraft {
  readonly accountId: string;
  readonly name: string;
  readonly runbookUrl: string | null;
}

/** Locks monitors and reads what decides their status. Omits monitors that another session has locked or deleted. */
export async function lockMonitors(
  tx: Transaction,
  ids: readonly string[],
): Promise<Map<string, LockedMonitor>> {
  const locking = query(tx, monitorState)`${PREPARE}
    select id, account_id, name, runbook_url, regions as named_regions, status, enabled,
      status_before_maintenance, error_detail, failure_threshold, recovery_threshold,
      interval_seconds, timeout_seconds, retry_interval_seconds, revision, probe_revision,
      ${epochMs(sql`last_checked_at`)} as checked_before, coalesce(updated_at > last_checked_at, true) as changed_since,
      ${epochMs(sql`last_timestamp`)} as last_timestamp, floor(${epochMs(sql`clock_timestamp()`)}) as now,
      exists (select from maintenance_windows w where ${HAS_BEGUN}) as may_be_covered
    from monitors where id = any(${arrayOf('uuid', ids)}) order by id
    for no key update skip locked`;
  // This is a separate statement after the lock, because one that locks and reads would see the regions as they were before the lock.
  const reading = tx
    .select({ monitorId: monitorRegions.monitorId, ...REGION_STATE_COLUMNS })
    .from(monitorRegions)
    .where(sql`${PREPARE} ${monitorRegions.monitorId} = any(${arrayOf('uuid', ids)})`)
    .execute();
  const [rows, states] = await inOneRoundTrip(locking, reading);
  if (rows.length === 0) return new Map();
  const covered = rows.some((row) => row.mayBeCovered) ? await readCovered(tx, rows) : new Set<string>();
  const regions = new Map<string, RegionState[]>(rows.map(({ id }) => [id, []]));
  for (const row of states) regions.get(row.monitorId)?.push(toRegionState(row));
  return new Map(
    rows.map((row): [string, LockedMonitor] => {
      const clock = new MonitorClock(row.lastTimestamp, row.now);
      const state = { clock, regions: regions.get(row.id) ?? [], covered: covered.has(row.id) };
      const undecided = { lastCheckedAt: null, change: null, isChanged: false };
      return [row.id, Object.assign(row, state, undecided)];
    }),
  );
}
