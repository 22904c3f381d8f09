import { isDeepStrictEqual } from 'node:util';
import { AppError } from '@tocsin/contracts/errors';
import { monitorConflicts, type MonitorInput, type MonitorUpdate } from '@tocsin/contracts/monitors/monitor';
import { evaluateStatus } from '@tocsin/core/status/evaluate-status';
import { decidingCheck } from '@tocsin/core/status/maintenance';
import { isAnnounced } from '@tocsin/core/status/webhook-events';
import type { SecretBox } from '@tocsin/core/secrets/secret-box';
import { getTableColumns, sql } from 'drizzle-orm';
import type { DbContext, Transaction } from '../database/open.ts';
import { arrayOf, clockNow, firstOf, laterThan, queryIds, tableOf } from '../database/sql.ts';
import { replanSpans } from '../monitor-regions/schedule-spans.ts';
import { changeStatus, type LockedMonitor, lockMonitors } from '../status-changes/locked-monitor.ts';
import { type WrittenChange, writeStatuses } from '../status-changes/write-statuses.ts';
import {
  effectiveRegions,
  externalIdTaken,
  toWritten,
  type WrittenMonitor,
  type WrittenRow,
} from './create-monitors.ts';
import {
  placeholderErrors,
  RECORDS,
  toInput,
  toRecord,
  toShownInput,
  UnreadableMonitorError,
} from './monitor-codec.ts';
import { findMonitorRow, requireVersion } from './monitor-row.ts';
import { type MonitorRow, monitors } from './table.ts';

/** A change of these fields changes what is probed. */
const PROBE_FIELDS = ['url', 'method', 'headers', 'body', 'assertions', 'timeout'] as const;
/** A change of these fields may change the status at once. */
const STATUS_FIELDS = ['regions', 'failureThreshold'] as const;

export interface UpdatedMonitor extends WrittenMonitor {
  /** False if the update left everything as it was, and so the revision too. */
  readonly changed: boolean;
  /** The status change that a new threshold or list of regions caused at once, if any. */
  readonly statusChange: WrittenChange | null;
}

/**
 * Changes the given fields of a monitor. A change of what is probed resets the streaks; a change of regions or threshold is evaluated
 * at once.
 * @param versions the monitor must have one of these, see `versionOf`; null: any
 * @throws AppError not_found, precondition_failed, validation_failed (the merged record breaks a rule, or contains "(unreadable)"),
 * conflict (externalId; no key decrypts the header values or the body, and the update does not replace them)
 */
export async function updateMonitor(
  context: DbContext,
  accountId: string,
  id: string,
  update: MonitorUpdate,
  defaultRegion: string,
  versions: ReadonlySet<string> | null = null,
): Promise<UpdatedMonitor> {
  return context.db
    .transaction(async (tx) => {
      const before = await findMonitorRow(tx, accountId, id, 'no key update');
      requireVersion(before, versions);
      const oldInput = readBefore(context, before, update);
      const input = mergeInput(oldInput, update);
      const changed = changedFields(oldInput, input);
      if (changed.length === 0) {
        const regions = effectiveRegions(input.regions, defaultRegion);
        return { ...toWritten(context, { row: before, regions }), changed: false, statusChange: null };
      }
      const rewrite = { before, input, changed };
      const written = firstOf(await rewriteMonitors(tx, context.secrets, [rewrite], defaultRegion));
      return { ...toWritten(context, written), changed: true, statusChange: written.statusChange };
    })
    .catch((error: unknown) => {
      throw externalIdTaken(error, update.externalId) ?? error;
    });
}

/** An unreadable monitor can only be changed by an update that replaces what is unreadable, or that would be lost for good. */
function readBefore({ secrets }: DbContext, row: MonitorRow, update: MonitorUpdate): MonitorInput {
  try {
    return toInput(row, secrets);
  } catch (error) {
    if (!(error instanceof UnreadableMonitorError)) throw error;
    const replacesAll =
      (row.sealedHeaders === null || update.headers !== undefined) &&
      (row.sealedBody === null || update.body !== undefined);
    if (!replacesAll) {
      throw new AppError(
        'conflict',
        'No key of this server decrypts the header values or the body of this monitor. Restore the key in SECRETS_KEY, or send headers and body again with this update.',
        { cause: error },
      );
    }
    const errors = placeholderErrors(row, update, secrets);
    if (errors.length === 0) return toShownInput(row, secrets);
    throw new AppError(
      'validation_failed',
      'The header values or the body of this monitor cannot be read. Send the true values.',
      { errors },
    );
  }
}

function mergeInput(before: MonitorInput, update: MonitorUpdate): MonitorInput {
  const given = Object.fromEntries(Object.entries(update).filter(([, value]) => value !== undefined));
  const merged: MonitorInput = { ...before, ...given };
  const errors = monitorConflicts(merged);
  if (errors.length === 0) return merged;
  throw new AppError('validation_failed', 'The monitor would break a rule after this update.', { errors });
}

/** The fields whose values differ. */
export function changedFields(before: MonitorInput, after: MonitorInput): (keyof MonitorInput)[] {
  return (Object.keys(after) as (keyof MonitorInput)[]).filter(
    (field) => !isDeepStrictEqual(before[field], after[field]),
  );
}

/** A change of a monitor whose row the transaction has locked. */
export interface Rewrite {
  readonly before: MonitorRow;
  readonly input: MonitorInput;
  /** See `changedFields`; not empty. */
  readonly changed: readonly (keyof MonitorInput)[];
}

export interface RewrittenRow extends WrittenRow {
  /** See `UpdatedMonitor`. */
  readonly statusChange: WrittenChange | null;
}

/**
 * Writes changes of monitors, each as a new revision, with everything that follows from them. The number of statements does not depend on
 * the number of monitors.
 * @returns in the order of the changes
 */
export async function rewriteMonitors(
  tx: Transaction,
  secrets: SecretBox,
  rewrites: readonly Rewrite[],
  defaultRegion: string,
): Promise<RewrittenRow[]> {
  if (rewrites.length === 0) return [];
  const rows = await writeRows(tx, secrets, rewrites);
  const written = rewrites.map(({ before, input }) => {
    const row = rows.get(before.id);
    if (!row) throw new Error('The update returned no row');
    return { row, regions: effectiveRegions(input.regions, defaultRegion) };
  });
  const moved = await replaceRegions(tx, written);
  const changing = (...fields: readonly (keyof MonitorInput)[]): Set<string> =>
    new Set(
      rewrites
        .filter(({ changed }) => changed.some((field) => fields.includes(field)))
        .map(({ before }) => before.id),
    );
  const replanned = new Set([...changing('interval'), ...moved]);
  if (replanned.size > 0) {
    const plan = written
      .filter(({ row }) => replanned.has(row.id))
      .flatMap(({ row: { id, intervalSeconds }, regions }) =>
        regions.map((region) => ({ monitorId: id, region, intervalSeconds })),
      );
    await replanSpans(tx, [...replanned], plan);
  }
  await resetStreaks(tx, changing(...PROBE_FIELDS), changing('url'));
  const evaluated = await evaluateMonitors(tx, changing(...STATUS_FIELDS));
  return written.map(({ row, regions }) => {
    const found = evaluated.get(row.id);
    if (found === undefined) return { row, regions, statusChange: null };
    const { monitor, change } = found;
    const [statusSince, lastTimestamp] = [new Date(change.timestamp), new Date(monitor.clock.last)];
    const after = { ...row, status: monitor.status, statusSince, lastTimestamp };
    return { row: after, regions, statusChange: change };
  });
}

async function writeRows(
  tx: Transaction,
  secrets: SecretBox,
  rewrites: readonly Rewrite[],
): Promise<Map<string, MonitorRow>> {
  const written = new Map<string, MonitorRow>();
  for (let from = 0; from < rewrites.length; from += RECORDS.atOnce) {
    const records = rewrites.slice(from, from + RECORDS.atOnce).map(({ before, input, changed }) => {
      const revision = before.revision + 1;
      const probes = PROBE_FIELDS.some((field) => changed.includes(field));
      const probeRevision = probes ? revision : before.probeRevision;
      return toRecord({ id: before.id, revision, probeRevision }, input, secrets);
    });
    const rows = await tx
      .update(monitors)
      .set({ ...RECORDS.assignments, updatedAt: laterThan(monitors.updatedAt) })
      .from(RECORDS.table(records))
      .where(sql`${monitors.id} = u.id`)
      .returning(getTableColumns(monitors));
    for (const row of rows) written.set(row.id, row);
  }
  return written;
}

/** @returns the monitors that lost or gained a region */
async function replaceRegions(tx: Transaction, written: readonly WrittenRow[]): Promise<Set<string>> {
  const wanted = written.flatMap(({ row, regions }) => regions.map((region) => ({ id: row.id, region })));
  const pairs = tableOf('w', wanted, {
    monitor_id: ['uuid', ({ id }) => id],
    region: ['text', ({ region }) => region],
  });
  const ids = written.map(({ row }) => row.id);
  const removed = await queryIds(tx)`
    delete from monitor_regions r where r.monitor_id = any(${arrayOf('uuid', ids)})
      and (r.monitor_id, r.region) not in (select w.monitor_id, w.region from ${pairs})
    returning r.monitor_id as id`;
  const added = await queryIds(tx)`
    insert into monitor_regions (monitor_id, region) select w.monitor_id, w.region from ${pairs}
    on conflict do nothing returning monitor_id as id`;
  return new Set([...removed, ...added]);
}

/** Certificates are forgotten where the URL, and so the target, is another. */
async function resetStreaks(
  tx: Transaction,
  probed: ReadonlySet<string>,
  retargeted: ReadonlySet<string>,
): Promise<void> {
  if (probed.size === 0) return;
  await tx.execute(sql`
    update monitor_regions set consecutive_failures = 0, last_result_at = null, last_latency_ms = null,
      last_error_reason = null, since = ${clockNow},
      certificate_expires_at = case when monitor_id = any(${arrayOf('uuid', [...retargeted])}) then null else certificate_expires_at end
    where monitor_id = any(${arrayOf('uuid', [...probed])})`);
}

/**
 * Applies the rules to the last results of the regions, without a check. The caller holds the monitors' row locks. Monitors that
 * maintenance covers are evaluated at its end.
 * @returns by id, those whose status changed
 */
async function evaluateMonitors(
  tx: Transaction,
  ids: ReadonlySet<string>,
): Promise<Map<string, { readonly monitor: LockedMonitor; readonly change: WrittenChange }>> {
  if (ids.size === 0) return new Map();
  const locked = await lockMonitors(tx, [...ids]);
  for (const monitor of locked.values()) {
    const { status, covered, regions, clock } = monitor;
    if (covered || (status !== 'UP' && status !== 'DOWN')) continue;
    const to = evaluateStatus(monitor, status, regions, clock.now);
    if (to === null || to === status) continue;
    const cause = decidingCheck(monitor, regions, to, clock.now);
    changeStatus(monitor, { to, announced: isAnnounced(status, to), ...cause });
  }
  const changes = await writeStatuses(tx, locked.values());
  const changed = new Map<string, { monitor: LockedMonitor; change: WrittenChange }>();
  for (const [id, change] of changes) {
    const monitor = locked.get(id);
    if (monitor) changed.set(id, { monitor, change });
  }
  return changed;
}
