import type { MonitorInput } from '@tocsin/contracts/monitors/monitor';
import type { SecretBox } from '@tocsin/core/secrets/secret-box';
import { evaluateStatus } from '@tocsin/core/status/evaluate-status';
import { decidingCheck } from '@tocsin/core/status/maintenance';
import { changeStatus } from '@tocsin/core/status/monitor-draft';
import { isAnnounced } from '@tocsin/core/status/webhook-events';
import { sql } from 'drizzle-orm';
import { v7 as uuidv7 } from 'uuid';
import { lockAssignments } from '../assignments/assignments.ts';
import { matchMonitors } from '../assignments/match-selectors.ts';
import type { Transaction } from '../database/open.ts';
import { arrayOf, clockNow, queryColumn, tableOf } from '../database/sql.ts';
import { addSchedules, replanSpans } from '../monitor-regions/schedule-spans.ts';
import { unapplySchedules } from '../monitor-regions/schedules.ts';
import { lockMonitors } from '../status-changes/locked-monitor.ts';
import { type WrittenChange, writeStatuses } from '../status-changes/write-statuses.ts';
import { PROBED_FIELDS } from './check-targets.ts';
import { upsertMonitors } from './monitor-codec.ts';
import { type MonitorRow, monitors } from './table.ts';

const MAX_BATCH_SIZE = 500;
const PROBE_FIELDS = [...PROBED_FIELDS, 'timeout'] as const;
/** A change of these fields may select another target, with another certificate. */
const TARGET_FIELDS = ['url', 'connectTo', 'tls'] as const;
/** A change of these fields may change the status at once. */
const STATUS_FIELDS = ['regions', 'failureThreshold', 'recoveryThreshold'] as const;

export interface WriteScope {
  readonly tx: Transaction;
  readonly secrets: SecretBox;
  readonly accountId: string;
  readonly defaultRegion: string;
}

/** A new monitor, or an update to one whose row the transaction has locked. */
export interface MonitorWrite {
  readonly before: MonitorRow | null;
  readonly input: MonitorInput;
  /** Fields whose values differ. Empty for a new monitor. */
  readonly changed: readonly (keyof MonitorInput)[];
}

export interface WrittenRow {
  readonly row: MonitorRow;
  /** Regions that check the monitor. */
  readonly regions: readonly string[];
  /** Status change that a new threshold or list of regions caused at once, or null. */
  readonly statusChange: WrittenChange | null;
}

/** Returns the regions that check a monitor. An empty list means the default region. */
export function effectiveRegions(regions: readonly string[], defaultRegion: string): readonly string[] {
  return regions.length > 0 ? regions : [defaultRegion];
}

/** Writes monitors in order, each as a new revision, with regions, spans and statuses, in a nearly constant number of statements. */
export async function writeMonitors(
  scope: WriteScope,
  writes: readonly MonitorWrite[],
): Promise<WrittenRow[]> {
  const { tx, defaultRegion } = scope;
  if (writes.length === 0) return [];
  // New labels or sources may change which channels and maintenance windows select the monitor.
  const selects = writes.map(
    ({ before, changed }) => before === null || changed.includes('labels') || changed.includes('source'),
  );
  if (selects.includes(true)) await lockAssignments(tx, scope.accountId, 'shared');
  const rows: MonitorRow[] = [];
  for (let from = 0; from < writes.length; from += MAX_BATCH_SIZE) {
    rows.push(...(await writeRows(scope, writes.slice(from, from + MAX_BATCH_SIZE))));
  }
  const written = rows.map((row) => ({ row, regions: effectiveRegions(row.regions, defaultRegion) }));
  const changing = (...fields: readonly (keyof MonitorInput)[]): string[] =>
    writes.flatMap(({ before, changed }) =>
      before !== null && changed.some((field) => fields.includes(field)) ? before.id : [],
    );
  const selected = rows.filter((_, index) => selects[index]);
  if (selected.length > 0) await matchMonitors(tx, scope.accountId, selected);
  const created = written.filter((_, index) => writes[index]?.before === null);
  const updated = written.filter((_, index) => writes[index]?.before !== null);
  await addSchedules(tx, created.flatMap(schedulesOf));
  const updatedIds = updated.map(({ row }) => row.id);
  await unapplySchedules(tx, updatedIds);
  const moved = await replaceRegions(tx, updated);
  await replanSpans(tx, [...new Set([...changing('interval', 'enabled'), ...moved])]);
  await resetStreaks(tx, changing(...PROBE_FIELDS), changing(...TARGET_FIELDS));
  await forgetSlots(
    tx,
    updated
      .flatMap(({ row }) => (row.enabled ? row.id : []))
      .filter((id) => changing('enabled').includes(id)),
  );
  const evaluated = await evaluateMonitors(tx, changing(...STATUS_FIELDS));
  return written.map(({ row, regions }) => {
    const found = evaluated.get(row.id);
    return { row: { ...row, ...found?.row }, regions, statusChange: found?.statusChange ?? null };
  });
}

async function writeRows({ tx, secrets, accountId }: WriteScope, writes: readonly MonitorWrite[]) {
  const inputs = writes.map(({ before, input, changed }) => {
    const revision = (before?.revision ?? 0) + 1;
    const probes = before === null || PROBE_FIELDS.some((field) => changed.includes(field));
    const probeRevision = probes ? revision : before.probeRevision;
    return { id: before?.id ?? uuidv7(), revision, probeRevision, input };
  });
  await tx.execute(upsertMonitors(accountId, inputs, secrets));
  const ids = inputs.map(({ id }) => id);
  const isWritten = sql`${monitors.id} = any(${arrayOf('uuid', ids)})`;
  const rows = await tx.select().from(monitors).where(isWritten);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.map((id) => {
    const row = byId.get(id);
    if (row === undefined) throw new Error(`monitor ${id} was not written`);
    return row;
  });
}

function schedulesOf({ row, regions }: Pick<WrittenRow, 'row' | 'regions'>) {
  const { id: monitorId, intervalSeconds } = row;
  return regions.map((region) => ({ monitorId, region, intervalSeconds }));
}

/** @returns the monitors that lost or gained a region */
async function replaceRegions(tx: Transaction, written: readonly Omit<WrittenRow, 'statusChange'>[]) {
  if (written.length === 0) return [];
  const pairs = tableOf('w', written.flatMap(schedulesOf), {
    monitor_id: ['uuid', ({ monitorId }) => monitorId],
    region: ['text', ({ region }) => region],
  });
  const ids = written.map(({ row }) => row.id);
  const removed = await queryColumn(tx)`
    delete from monitor_regions r where r.monitor_id = any(${arrayOf('uuid', ids)})
      and (r.monitor_id, r.region) not in (select w.monitor_id, w.region from ${pairs})
    returning r.monitor_id`;
  const added = await queryColumn(tx)`
    insert into monitor_regions (monitor_id, region) select w.monitor_id, w.region from ${pairs}
    on conflict do nothing returning monitor_id`;
  return [...removed, ...added];
}

/** Resets streaks. Also clears certificate expiries of monitors that may have another target. */
async function resetStreaks(tx: Transaction, probed: readonly string[], retargeted: readonly string[]) {
  if (probed.length === 0) return;
  await tx.execute(sql`
    update monitor_regions set consecutive_failures = 0, recovery_passes = null, doubtful = false, last_result_at = null,
      last_latency_ms = null, last_error_reason = null, last_error_detail = null, since = ${clockNow},
      certificate_expires_at = case when monitor_id <> all(${arrayOf('uuid', retargeted)}) then certificate_expires_at end
    where monitor_id = any(${arrayOf('uuid', probed)})`);
}

/** Starts afresh in the regions of resumed monitors. Otherwise their first slots would follow a gap. */
async function forgetSlots(tx: Transaction, resumed: readonly string[]) {
  if (resumed.length === 0) return;
  await tx.execute(sql`
    update monitor_regions set recent_slots = '{}', since = ${clockNow}
    where monitor_id = any(${arrayOf('uuid', resumed)})`);
}

/** Applies the rules to the last results without a check. Monitors in maintenance are evaluated at its end, and paused ones by their next result. @returns changed monitors by id */
async function evaluateMonitors(tx: Transaction, ids: readonly string[]) {
  if (ids.length === 0) return new Map();
  const locked = await lockMonitors(tx, ids);
  for (const monitor of locked.values()) {
    const { status, enabled, covered, regions, clock } = monitor;
    if (!enabled || covered || (status !== 'UP' && status !== 'DOWN')) continue;
    const to = evaluateStatus(monitor, status, regions, clock.now);
    if (to === null || to === status) continue;
    const cause = decidingCheck(monitor, regions, to, clock.now);
    changeStatus(monitor, { to, announced: isAnnounced(status, to), ...cause });
  }
  const changes = await writeStatuses(tx, locked.values());
  return new Map(
    [...locked.values()].flatMap(({ id, status, clock }) => {
      const statusChange = changes.get(id);
      if (statusChange === undefined) return [];
      const lastTimestamp = new Date(clock.last);
      const row = { status, statusSince: new Date(statusChange.timestamp), lastTimestamp };
      return [[id, { row, statusChange }] as const];
    }),
  );
}
