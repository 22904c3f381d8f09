import type { WebhookPayload } from '@tocsin/contracts/deliveries/webhook';
import type { ErrorReason, MonitorStatus, WebhookEvent } from '@tocsin/contracts/vocabulary';
import { webhookEventsOf } from '@tocsin/core/status/webhook-events';
import type { MonitorClock } from '@tocsin/core/status/webhook-events';
import { and, inArray, isNull, sql } from 'drizzle-orm';
import { v7 as uuidv7 } from 'uuid';
import type { Transaction } from '../database/open.ts';
import { arrayOf, columnOf } from '../database/sql.ts';
import { incidents } from '../incidents/table.ts';
import { statusChanges } from './table.ts';

/** A status change of a monitor whose row the transaction has locked. */
export interface StatusChange {
  readonly monitor: { id: string; accountId: string; name: string; runbookUrl: string | null };
  readonly from: MonitorStatus;
  readonly to: MonitorStatus;
  /** Whether webhook events are made of it; otherwise it is silent, and stamped with the clock's last stamp. */
  readonly announced: boolean;
  /** The region, latency and reason of the check that decided it. */
  readonly region: string;
  readonly latencyMs: number;
  readonly errorReason: ErrorReason | null;
  /** Of the trace of that check, if there is one. */
  readonly traceparent?: string | undefined;
  /** The monitor's clock; its new last stamp must be written back to the monitor. */
  readonly clock: MonitorClock;
}

/** What was written of one status change. */
export interface RecordedStatusChange {
  readonly id: string;
  /** When the monitor took its new status, epoch milliseconds. */
  readonly timestamp: number;
  /** Whether deliveries are to be made of it. */
  readonly due: boolean;
}

/**
 * Writes status changes with their incidents and frozen webhook events, in the transaction that decided them, in a handful
 * of statements however many there are (design §4 "Status", "Outbox").
 * @returns one record per change, in the same order
 */
export async function recordStatusChanges(
  tx: Transaction,
  changes: readonly StatusChange[],
): Promise<RecordedStatusChange[]> {
  if (changes.length === 0) return [];
  const monitorIds = changes.map((change) => change.monitor.id);
  const open = await findOpenIncidents(tx, monitorIds);
  const channels = await findAssignedChannels(tx, monitorIds);
  const rows = changes.map((change) =>
    toRow(change, open.has(change.monitor.id), channels.get(change.monitor.id) ?? []),
  );
  await openIncidents(tx, changes, rows, open);
  await resolveIncidents(tx, changes, rows, open);
  await tx.insert(statusChanges).values(rows);
  return rows.map((row) => ({
    id: row.id,
    timestamp: row.timestamp.getTime(),
    due: row.dispatchedAt === null,
  }));
}

type StatusChangeInsert = Required<Omit<typeof statusChanges.$inferInsert, 'createdAt'>>;

function toRow(change: StatusChange, incidentOpen: boolean, channelIds: string[]): StatusChangeInsert {
  const kinds = webhookEventsOf(change.to, change.announced, incidentOpen);
  const stamps = kinds.map(() => change.clock.next());
  const timestamp = stamps[0] ?? change.clock.last;
  const webhookEvents = kinds.map((event, index) => ({
    event,
    payload: JSON.stringify(payloadOf(change, event, stamps[index] ?? timestamp)),
    traceparent: change.traceparent,
  }));
  const due = webhookEvents.length > 0 && channelIds.length > 0;
  return {
    id: uuidv7(),
    accountId: change.monitor.accountId,
    monitorId: change.monitor.id,
    fromStatus: change.from,
    toStatus: change.to,
    region: change.region,
    timestamp: new Date(timestamp),
    webhookEvents,
    channelIds,
    dispatchedAt: due ? null : new Date(timestamp),
  };
}

function payloadOf(change: StatusChange, event: WebhookEvent, timestamp: number): WebhookPayload {
  if (change.to === 'PENDING') throw new Error('PENDING is announced to nobody');
  return {
    event,
    monitorId: change.monitor.id,
    monitorName: change.monitor.name,
    status: change.to,
    previousStatus: change.from,
    latency: change.latencyMs,
    errorReason: change.to === 'DOWN' ? (change.errorReason ?? 'UNKNOWN_ERROR') : null,
    region: change.region,
    timestamp: new Date(timestamp).toISOString(),
    runbookUrl: change.monitor.runbookUrl,
  };
}

async function findOpenIncidents(tx: Transaction, monitorIds: readonly string[]): Promise<Set<string>> {
  const rows = await tx
    .select({ monitorId: incidents.monitorId })
    .from(incidents)
    .where(and(inArray(incidents.monitorId, [...monitorIds]), isNull(incidents.resolvedAt)));
  return new Set(rows.map((row) => row.monitorId));
}

async function findAssignedChannels(
  tx: Transaction,
  monitorIds: readonly string[],
): Promise<Map<string, string[]>> {
  const { rows } = await tx.execute<{ monitor_id: string; channel_ids: string[] }>(sql`
    select m.id as monitor_id, array_agg(c.id::text order by c.id) as channel_ids
    from monitors m
    join channels c on c.account_id = m.account_id
      and (c.all_monitors or exists (
        select from channel_monitors a where a.channel_id = c.id and a.monitor_id = m.id))
    where m.id = any(${arrayOf('uuid', monitorIds)})
    group by m.id`);
  return new Map(rows.map((row) => [row.monitor_id, row.channel_ids]));
}

/** An incident opens with the announcement of DOWN: a DOWN that silently comes back after maintenance is no news. */
function opensIncident(change: StatusChange, open: ReadonlySet<string>): boolean {
  return change.to === 'DOWN' && change.announced && !open.has(change.monitor.id);
}

async function openIncidents(
  tx: Transaction,
  changes: readonly StatusChange[],
  rows: readonly StatusChangeInsert[],
  open: ReadonlySet<string>,
): Promise<void> {
  const opened = changes.flatMap((change, index) => {
    const row = rows[index];
    if (row === undefined || !opensIncident(change, open)) return [];
    return [
      {
        id: uuidv7(),
        accountId: change.monitor.accountId,
        monitorId: change.monitor.id,
        openedAt: row.timestamp,
        cause: change.errorReason ?? ('UNKNOWN_ERROR' as const),
        region: change.region,
      },
    ];
  });
  if (opened.length > 0) await tx.insert(incidents).values(opened);
}

async function resolveIncidents(
  tx: Transaction,
  changes: readonly StatusChange[],
  rows: readonly StatusChangeInsert[],
  open: ReadonlySet<string>,
): Promise<void> {
  const resolved = rows.filter((row, index) => changes[index]?.to === 'UP' && open.has(row.monitorId));
  if (resolved.length === 0) return;
  await tx.execute(sql`
    update ${incidents} i set resolved_at = u.resolved_at
    from unnest(
      ${columnOf(resolved, 'uuid', (row) => row.monitorId)},
      ${columnOf(resolved, 'timestamptz', (row) => row.timestamp.toISOString())}
    ) as u (monitor_id, resolved_at)
    where i.monitor_id = u.monitor_id and i.resolved_at is null`);
}
