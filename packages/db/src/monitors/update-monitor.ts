import { isDeepStrictEqual } from 'node:util';
import { AppError } from '@tocsin/contracts/errors';
import { monitorConflicts, type MonitorInput, type MonitorUpdate } from '@tocsin/contracts/monitor';
import { decidingCheck } from '@tocsin/core/status/deciding-check';
import { judgeStatus } from '@tocsin/core/status/judge-status';
import { MonitorClock } from '@tocsin/core/status/monitor-clock';
import { isAnnounced } from '@tocsin/core/status/webhook-events';
import { and, eq, notInArray, sql } from 'drizzle-orm';
import type { DbContext } from '../database/context.ts';
import { clockNow } from '../database/columns.ts';
import type { Transaction } from '../database/open.ts';
import { toRegionState } from '../monitor-regions/region-state.ts';
import { monitorRegions } from '../monitor-regions/table.ts';
import { replanSpans } from '../schedule-spans/replan-spans.ts';
import { recordStatusChanges, type RecordedStatusChange } from '../status-changes/record-status-changes.ts';
import { externalIdTaken, type WrittenMonitor } from './create-monitor.ts';
import { lockMonitorRow } from './find-monitor-row.ts';
import { toColumns, toInput, toMonitor } from './monitor-columns.ts';
import { effectiveRegions } from './schedule.ts';
import { monitors, type MonitorRow } from './table.ts';

const PROBE_FIELDS = ['url', 'method', 'headers', 'body', 'assertions', 'timeout'] as const;
const STATUS_FIELDS = ['regions', 'failureThreshold'] as const;

export interface UpdatedMonitor extends WrittenMonitor {
  /** False where the update left everything as it was: no revision was raised. */
  readonly changed: boolean;
  /** The status change that a new threshold or list of regions brought about at once, if any. */
  readonly statusChange: RecordedStatusChange | null;
}

/**
 * Changes the given fields of a monitor (specification "Update a monitor"). A change of what is probed resets the
 * streaks; a change of regions or threshold is evaluated at once (design §4 "Status").
 * @throws AppError not_found, validation_failed (the merged record breaks a rule), conflict (externalId)
 */
export async function updateMonitor(
  context: DbContext,
  accountId: string,
  id: string,
  update: MonitorUpdate,
  defaultRegion: string,
): Promise<UpdatedMonitor> {
  return context.db
    .transaction(async (tx) => {
      const before = await lockMonitorRow(tx, accountId, id, 'no key update');
      const oldInput = toInput(before, context.secrets);
      const newInput = mergeInput(oldInput, update);
      const changed = (Object.keys(newInput) as (keyof MonitorInput)[]).filter(
        (field) => !isDeepStrictEqual(oldInput[field], newInput[field]),
      );
      const regions = effectiveRegions(newInput.regions, defaultRegion);
      const unchanged = { changed: false, statusChange: null };
      if (changed.length === 0) return { ...toWritten(context, before, regions), ...unchanged };

      const revision = before.revision + 1;
      const probeChanged = changed.some((field) => PROBE_FIELDS.some((name) => name === field));
      const [written] = await tx
        .update(monitors)
        .set({
          ...toColumns(newInput, context.secrets),
          revision,
          probeRevision: probeChanged ? revision : before.probeRevision,
          updatedAt: sql`greatest(${clockNow}, ${monitors.updatedAt} + interval '1 millisecond')`,
        })
        .where(eq(monitors.id, id))
        .returning();
      if (!written) throw new Error('update returned no row');
      const { removed, added } = await replaceRegions(tx, id, regions);
      if (changed.includes('interval') || removed.length + added.length > 0) {
        const { intervalSeconds } = written;
        const planned = regions.map((region) => ({ monitorId: id, region, intervalSeconds }));
        await replanSpans(tx, [id], planned);
      }
      if (probeChanged) await resetStreaks(tx, id);
      if (changed.includes('url')) await forgetCertificates(tx, id);
      const judge = changed.some((field) => STATUS_FIELDS.some((name) => name === field));
      const judged = judge ? await judgeNow(tx, written) : null;
      return {
        ...toWritten(context, judged?.row ?? written, regions),
        changed: true,
        statusChange: judged?.statusChange ?? null,
      };
    })
    .catch((error: unknown) => {
      throw externalIdTaken(error, update.externalId) ?? error;
    });
}

function mergeInput(before: MonitorInput, update: MonitorUpdate): MonitorInput {
  const given = Object.fromEntries(Object.entries(update).filter(([, value]) => value !== undefined));
  const merged: MonitorInput = { ...before, ...given };
  const errors = monitorConflicts(merged);
  if (errors.length > 0) {
    throw new AppError('validation_failed', 'The monitor would break a rule after this update.', { errors });
  }
  return merged;
}

function toWritten(context: DbContext, row: MonitorRow, regions: readonly string[]): WrittenMonitor {
  return {
    monitor: toMonitor(row, context.secrets),
    schedule: { monitorId: row.id, revision: row.revision, intervalSeconds: row.intervalSeconds, regions },
  };
}

async function replaceRegions(
  tx: Transaction,
  id: string,
  regions: readonly string[],
): Promise<{ removed: string[]; added: string[] }> {
  const removed = await tx
    .delete(monitorRegions)
    .where(and(eq(monitorRegions.monitorId, id), notInArray(monitorRegions.region, [...regions])))
    .returning({ region: monitorRegions.region });
  const added = await tx
    .insert(monitorRegions)
    .values(regions.map((region) => ({ monitorId: id, region })))
    .onConflictDoNothing()
    .returning({ region: monitorRegions.region });
  return { removed: removed.map((row) => row.region), added: added.map((row) => row.region) };
}

async function resetStreaks(tx: Transaction, id: string): Promise<void> {
  await tx
    .update(monitorRegions)
    .set({
      consecutiveFailures: 0,
      lastResultAt: null,
      lastLatencyMs: null,
      lastErrorReason: null,
      since: clockNow,
    })
    .where(eq(monitorRegions.monitorId, id));
}

/** Of the target before. */
async function forgetCertificates(tx: Transaction, id: string): Promise<void> {
  await tx.update(monitorRegions).set({ certificateExpiresAt: null }).where(eq(monitorRegions.monitorId, id));
}

/** Applies the rules to what the regions last said, without a check. Null where the status stays: maintenance's end judges itself. */
async function judgeNow(
  tx: Transaction,
  row: MonitorRow,
): Promise<{ row: MonitorRow; statusChange: RecordedStatusChange } | null> {
  if (row.status === 'PENDING' || row.status === 'MAINTENANCE') return null;
  const rows = await tx.select().from(monitorRegions).where(eq(monitorRegions.monitorId, row.id));
  const regions = rows.map(toRegionState);
  const { rows: clocks } = await tx.execute<{ now: number }>(
    sql`select floor(extract(epoch from clock_timestamp()) * 1000)::float8 as now`,
  );
  const clock = new MonitorClock(row.lastTimestamp?.getTime() ?? null, clocks[0]?.now ?? Date.now());
  const status = judgeStatus(row, row.status, regions, clock.now);
  if (status === null || status === row.status) return null;

  const [statusChange] = await recordStatusChanges(tx, [
    {
      monitor: row,
      from: row.status,
      to: status,
      announced: isAnnounced(row.status, status),
      ...decidingCheck(row, regions, status, clock.now),
      clock,
    },
  ]);
  if (!statusChange) throw new Error('a status change was not recorded');
  const [after] = await tx
    .update(monitors)
    .set({ status, statusSince: new Date(statusChange.timestamp), lastTimestamp: new Date(clock.last) })
    .where(eq(monitors.id, row.id))
    .returning();
  return { row: after ?? row, statusChange };
}
