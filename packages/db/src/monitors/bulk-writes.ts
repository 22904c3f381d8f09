import { LIMITS } from '@tocsin/contracts/limits';
import type {
  LabelsEdit,
  MonitorFailure,
  PausedMonitor,
  RelabeledMonitor,
} from '@tocsin/contracts/monitors/bulk-routes';
import { and, asc, eq, sql } from 'drizzle-orm';
import { z } from 'zod';
import { lockAssignments } from '../assignments/assignments.ts';
import type { Actor } from '../audit-log/actor.ts';
import { recordAudit } from '../audit-log/record-audit.ts';
import { changedFields } from '../database/fields.ts';
import type { Database, DbContext, Transaction } from '../database/open.ts';
import { arrayOf, query } from '../database/sql.ts';
import { removeMonitors } from './delete-monitors.ts';
import { auditMonitor, readInput } from './monitor-codec.ts';
import { type MonitorRow, monitors } from './table.ts';
import { type MonitorWrite, writeMonitors } from './write-monitors.ts';

/** Locks those of these monitors that belong to the account, in id order, so that two requests for the same monitors do not deadlock. */
async function lockRows(
  tx: Transaction,
  accountId: string,
  monitorIds: readonly string[],
  lock: 'update' | 'no key update',
): Promise<MonitorRow[]> {
  const isOneOf = sql`${monitors.id} = any(${arrayOf('uuid', monitorIds)})`;
  const rows = tx
    .select()
    .from(monitors)
    .where(and(eq(monitors.accountId, accountId), isOneOf));
  return rows.orderBy(asc(monitors.id)).for(lock);
}

/** Deletes the account's monitors among these, in one transaction. @returns their ids, and status changes whose deliveries are due */
export async function deleteMonitors(
  db: Database,
  actor: Actor,
  monitorIds: readonly string[],
): Promise<{ deletedIds: string[]; statusChangeIds: string[] }> {
  return db.transaction(async (tx) => {
    await lockAssignments(tx, actor.accountId, 'shared');
    const rows = await lockRows(tx, actor.accountId, monitorIds, 'update');
    const deletedIds = rows.map(({ id }) => id);
    const statusChangeIds = await removeMonitors(tx, deletedIds);
    const records = rows.flatMap((row) => auditMonitor(row, null));
    await recordAudit(tx, actor, records);
    return { deletedIds, statusChangeIds };
  });
}

/** A field that is left out stays. */
export interface MonitorsEdit {
  readonly labels?: LabelsEdit;
  readonly enabled?: boolean;
}

export interface EditedMonitors {
  /** Monitors that are now as wanted, in id order, then those that already were. */
  readonly monitors: (RelabeledMonitor & PausedMonitor)[];
  readonly failures: MonitorFailure[];
  /** Changed monitors, with the regions that check them. */
  readonly schedules: readonly { readonly monitorId: string; readonly regions: readonly string[] }[];
}

/** Edits monitors in one transaction. Monitors that cannot be changed stay as they are. */
export async function editMonitors(
  { db, secrets }: DbContext,
  actor: Actor,
  monitorIds: readonly string[],
  edit: MonitorsEdit,
  defaultRegion: string,
): Promise<EditedMonitors> {
  const { accountId } = actor;
  return db.transaction(async (tx) => {
    await lockAssignments(tx, accountId, 'shared');
    const failures: MonitorFailure[] = [];
    const unchanged: MonitorRow[] = [];
    const writes: (MonitorWrite & { readonly before: MonitorRow })[] = [];
    for (const before of await lockRows(tx, accountId, monitorIds, 'no key update')) {
      const { shown, error } = readInput(before, secrets);
      const { labels, enabled = shown.enabled } = edit;
      const input = { ...shown, enabled, labels: labels ? editLabels(before.labels, labels) : before.labels };
      const changed = changedFields(shown, input);
      if (changed.length === 0) unchanged.push(before);
      else if (error !== null) failures.push({ id: before.id, message: UNREADABLE_MESSAGE });
      else if (Object.keys(input.labels).length > LIMITS.labelCount)
        failures.push({ id: before.id, message: TOO_MANY_LABELS });
      else writes.push({ before, input, changed });
    }
    const written = await writeMonitors({ tx, secrets, accountId, defaultRegion }, writes);
    const records = written.flatMap(({ row }, index) => {
      const { before = null, changed = [] } = writes[index] ?? {};
      return auditMonitor(before, row, changed);
    });
    await recordAudit(tx, actor, records);
    const edited = [...unchanged, ...written.map(({ row }) => row)];
    return {
      monitors: edited.map(({ id, labels, enabled, updatedAt }) => ({
        id,
        labels,
        enabled,
        updatedAt: updatedAt.toISOString(),
      })),
      failures,
      schedules: written.map(({ row, regions }) => ({ monitorId: row.id, regions })),
    };
  });
}

const TOO_MANY_LABELS = `It would have more than ${LIMITS.labelCount} labels. Remove some first.`;
const UNREADABLE_MESSAGE =
  'No key of this server decrypts the header values, the body or the TLS key of this monitor. Restore the key in SECRETS_KEY, or edit the monitor.';

function editLabels(labels: MonitorRow['labels'], { set, remove }: LabelsEdit): Record<string, string> {
  const kept = Object.entries(labels).filter(([key]) => !remove.includes(key));
  return { ...Object.fromEntries(kept), ...set };
}

const checkableRow = z.object({
  region: z.string(),
  monitorId: z.string(),
  revision: z.number(),
  intervalSeconds: z.number(),
});

/** Lists those of these monitors that belong to the account and are not paused, once for each region. */
export async function listCheckable(
  db: Database,
  accountId: string,
  monitorIds: readonly string[],
): Promise<z.output<typeof checkableRow>[]> {
  return query(db, checkableRow)`
    select r.region, m.id as monitor_id, m.revision, m.interval_seconds
    from monitors m join monitor_regions r on r.monitor_id = m.id
    where m.account_id = ${accountId} and m.enabled and m.id = any(${arrayOf('uuid', monitorIds)})`;
}
