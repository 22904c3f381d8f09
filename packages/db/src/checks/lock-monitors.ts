import type { MonitorStatus } from '@tocsin/contracts/vocabulary';
import type { MonitorState, RegionState } from '@tocsin/core/status/apply-check';
import type { CoveredStatus } from '@tocsin/core/status/maintenance';
import { MonitorClock } from '@tocsin/core/status/webhook-events';
import { sql } from 'drizzle-orm';
import type { Transaction } from '../database/open.ts';
import { prepared } from '../database/preparing-client.ts';
import { arrayOf } from '../database/sql.ts';
import { HAS_BEGUN, readCovered } from '../maintenance-windows/coverage.ts';
import { toRegionState } from '../monitor-regions/read-regions.ts';
import { monitorRegions } from '../monitor-regions/table.ts';

/** A monitor whose row this transaction holds, with what a batch has decided of it so far. */
export interface LockedMonitor extends MonitorState {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  readonly runbookUrl: string | null;
  /** As given; empty means the default region. */
  readonly namedRegions: readonly string[];
  readonly revision: number;
  readonly clock: MonitorClock;
  readonly regions: Map<string, RegionState>;
  status: MonitorStatus;
  /** Whether a maintenance window covers the monitor now, whether or not it has its status yet. */
  readonly covered: boolean;
  /** What maintenance covers; null while there is none. */
  statusBeforeMaintenance: CoveredStatus | null;
  /** Epoch milliseconds; null: as it was. */
  statusSince: number | null;
  /** Epoch milliseconds; null: as it was. */
  lastCheckedAt: number | null;
  /** Whether anything of the row is to be written. */
  touched: boolean;
}

type MonitorStateRow = Record<string, unknown> & {
  id: string;
  account_id: string;
  name: string;
  runbook_url: string | null;
  status: MonitorStatus;
  status_before_maintenance: CoveredStatus | null;
  regions: string[];
  failure_threshold: number;
  interval_seconds: number;
  timeout_seconds: number;
  revision: number;
  probe_revision: number;
  last_timestamp: number | null;
  may_be_covered: boolean;
  now: number;
};

/** Locks the monitors that are free and reads what deciding needs. Those missing are locked elsewhere or gone. */
export async function lockMonitors(
  tx: Transaction,
  ids: readonly string[],
): Promise<Map<string, LockedMonitor>> {
  const { rows } = await tx.execute<MonitorStateRow>(sql`${prepared}
    select id, account_id, name, runbook_url, status, status_before_maintenance, regions, failure_threshold, interval_seconds, timeout_seconds,
      revision, probe_revision,
      exists (select from maintenance_windows w where ${HAS_BEGUN}) as may_be_covered,
      (extract(epoch from last_timestamp) * 1000)::float8 as last_timestamp,
      floor(extract(epoch from clock_timestamp()) * 1000)::float8 as now
    from monitors where id = any(${arrayOf('uuid', ids)}) order by id
    for no key update skip locked`);
  if (rows.length === 0) return new Map();
  const covered = rows.some((row) => row.may_be_covered)
    ? await readCovered(
        tx,
        rows.map((row) => ({ id: row.id, accountId: row.account_id })),
      )
    : new Set<string>();
  const monitors = new Map(rows.map((row) => [row.id, toLocked(row, covered.has(row.id))]));
  const regions = await tx
    .select()
    .from(monitorRegions)
    .where(sql`${monitorRegions.monitorId} = any(${arrayOf('uuid', [...monitors.keys()])})`);
  for (const row of regions) monitors.get(row.monitorId)?.regions.set(row.region, toRegionState(row));
  return monitors;
}

function toLocked(row: MonitorStateRow, covered: boolean): LockedMonitor {
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    runbookUrl: row.runbook_url,
    namedRegions: row.regions,
    status: row.status,
    covered,
    statusBeforeMaintenance: row.status_before_maintenance,
    failureThreshold: row.failure_threshold,
    intervalSeconds: row.interval_seconds,
    timeoutSeconds: row.timeout_seconds,
    revision: row.revision,
    probeRevision: row.probe_revision,
    clock: new MonitorClock(row.last_timestamp, row.now),
    regions: new Map(),
    statusSince: null,
    lastCheckedAt: null,
    touched: false,
  };
}

/** Which of these monitors exist at all, locked or not. */
export async function whichExist(tx: Transaction, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const { rows } = await tx.execute<{ id: string }>(
    sql`select id from monitors where id = any(${arrayOf('uuid', ids)})`,
  );
  return new Set(rows.map((row) => row.id));
}
