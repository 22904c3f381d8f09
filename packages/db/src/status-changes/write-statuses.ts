import { WEBHOOK_EVENTS, type WebhookEvent } from '@tocsin/contracts/vocabulary';
import type { WebhookPayload } from '@tocsin/contracts/deliveries/webhook';
import { webhookEventsOf } from '@tocsin/core/status/webhook-events';
import { sql } from 'drizzle-orm';
import { v7 as uuidv7 } from 'uuid';
import { z } from 'zod';
import { selectsAll } from '../assignments/assignments.ts';
import type { Transaction } from '../database/open.ts';
import { prepared } from '../database/preparing-client.ts';
import { arrayOf, query, queryColumn, tableOf, together } from '../database/sql.ts';
import { incidents } from '../incidents/table.ts';
import type { LockedMonitor, PendingChange } from './locked-monitor.ts';
import { type FrozenWebhookEvent, statusChanges } from './table.ts';

/** A status change that was written. */
export interface WrittenChange {
  readonly id: string;
  /** When the monitor took its new status, epoch milliseconds. */
  readonly timestamp: number;
  /** Whether its deliveries still have to be made. */
  readonly due: boolean;
}

/**
 * Writes what a transaction has decided about monitors, and status changes with their incidents and frozen webhook events. The only place
 * that writes statuses. The number of statements does not depend on the number of monitors.
 * @returns the status changes by monitor
 */
export async function writeStatuses(
  tx: Transaction,
  locked: Iterable<LockedMonitor>,
): Promise<Map<string, WrittenChange>> {
  const touched = [...locked].filter((monitor) => monitor.touched);
  if (touched.length === 0) return new Map();
  const changes = await planChanges(
    tx,
    touched.flatMap((monitor) => (monitor.change === null ? [] : [{ monitor, change: monitor.change }])),
  );
  const written = new Map<string, WrittenChange>(
    changes.map(({ row: { id, monitorId, timestamp, dispatchedAt } }) => [
      monitorId,
      { id, timestamp: timestamp.getTime(), due: dispatchedAt === null },
    ]),
  );
  const opening = new Set(changes.flatMap(({ row, opens }) => (opens ? row.monitorId : [])));
  await together(writeChanges(tx, changes), updateMonitors(tx, touched, written, opening));
  return written;
}

async function updateMonitors(
  tx: Transaction,
  touched: readonly LockedMonitor[],
  written: ReadonlyMap<string, WrittenChange>,
  opening: ReadonlySet<string>,
): Promise<void> {
  await tx.execute(sql`${prepared}
    update monitors m set
      status = u.status,
      status_since = coalesce(u.status_since, m.status_since),
      status_before_maintenance = u.status_before,
      error_detail = case u.status
        when 'DOWN' then coalesce(u.error_detail, m.error_detail)
        when 'MAINTENANCE' then m.error_detail
      end,
      last_checked_at = coalesce(u.checked_at, m.last_checked_at),
      last_timestamp = u.last_timestamp,
      incident_count = m.incident_count + u.opened
    from ${tableOf('u', touched, {
      id: ['uuid', (monitor) => monitor.id],
      status: ['text', (monitor) => monitor.status],
      status_since: ['timestamptz', (monitor) => written.get(monitor.id)?.timestamp ?? null],
      status_before: ['text', (monitor) => monitor.statusBeforeMaintenance],
      error_detail: ['text', ({ change }) => (change?.to === 'DOWN' ? change.errorDetail : null)],
      checked_at: ['timestamptz', (monitor) => monitor.lastCheckedAt],
      last_timestamp: ['timestamptz', (monitor) => monitor.clock.last],
      opened: ['int', (monitor) => Number(opening.has(monitor.id))],
    })}
    where m.id = u.id`);
}

interface Change {
  readonly monitor: LockedMonitor;
  readonly change: PendingChange;
}

/** A status change with what happens to the monitor's incident. */
interface PlannedChange {
  readonly row: ReturnType<typeof toRow>;
  readonly cause: PendingChange['errorReason'];
  readonly opens: boolean;
  readonly resolves: boolean;
}

async function planChanges(tx: Transaction, changes: readonly Change[]): Promise<PlannedChange[]> {
  if (changes.length === 0) return [];
  const monitorIds = changes.map(({ monitor }) => monitor.id);
  const [open, channels] = await together(
    findOpenIncidents(tx, monitorIds),
    findAssignedChannels(tx, monitorIds),
  );
  return changes.map(({ monitor, change }) => {
    const isOpen = open.has(monitor.id);
    return {
      row: toRow(monitor, change, isOpen, channels.get(monitor.id) ?? []),
      cause: change.errorReason,
      // An incident opens with the announcement of DOWN: a DOWN that silently returns after maintenance is not new.
      opens: change.to === 'DOWN' && change.announced && !isOpen,
      resolves: change.to === 'UP' && isOpen,
    };
  });
}

async function writeChanges(tx: Transaction, changes: readonly PlannedChange[]): Promise<void> {
  if (changes.length === 0) return;
  await together(
    openIncidents(
      tx,
      changes.filter(({ opens }) => opens),
    ),
    resolveIncidents(
      tx,
      changes.filter(({ resolves }) => resolves),
    ),
    tx
      .insert(statusChanges)
      .values(changes.map(({ row }) => row))
      .execute(),
  );
}

async function openIncidents(tx: Transaction, opening: readonly PlannedChange[]): Promise<void> {
  if (opening.length === 0) return;
  await tx.insert(incidents).values(
    opening.map(({ row: { accountId, monitorId, timestamp: openedAt, region, errorDetail }, cause }) => {
      return {
        accountId,
        monitorId,
        openedAt,
        region,
        cause: cause ?? ('UNKNOWN_ERROR' as const),
        errorDetail,
      };
    }),
  );
}

async function resolveIncidents(tx: Transaction, resolving: readonly PlannedChange[]): Promise<void> {
  if (resolving.length === 0) return;
  await tx.execute(sql`
    update incidents i set resolved_at = u.resolved_at
    from ${tableOf('u', resolving, {
      monitor_id: ['uuid', ({ row }) => row.monitorId],
      resolved_at: ['timestamptz', ({ row }) => row.timestamp],
    })}
    where i.monitor_id = u.monitor_id and i.resolved_at is null`);
}

function toRow(
  monitor: LockedMonitor,
  change: PendingChange,
  isIncidentOpen: boolean,
  channels: readonly AssignedChannel[],
) {
  const timestamps: number[] = [];
  const webhookEvents: FrozenWebhookEvent[] = [];
  const events = change.isDeletion
    ? (['incident.resolved'] as const)
    : webhookEventsOf(change.to, change.announced, isIncidentOpen);
  for (const event of events) {
    const stamp = monitor.clock.next();
    timestamps.push(stamp);
    const payload = JSON.stringify(payloadOf(monitor, change, event, stamp));
    const frozen = { event, payload, traceparent: change.traceparent };
    const receivers = channels.filter(({ events }) => events === null || events.includes(event));
    const channelIds = receivers.map(({ channelId }) => channelId);
    // Only a filter makes the channels of an event differ from those of the status change.
    webhookEvents.push(receivers.length < channels.length ? { ...frozen, channelIds } : frozen);
  }
  const timestamp = new Date(timestamps[0] ?? monitor.clock.last);
  const due = channels.length > 0 && webhookEvents.some(({ channelIds }) => channelIds?.length !== 0);
  return {
    id: uuidv7(),
    accountId: monitor.accountId,
    monitorId: monitor.id,
    fromStatus: change.from,
    toStatus: change.to,
    region: change.region,
    errorDetail: change.to === 'DOWN' ? change.errorDetail : null,
    timestamp,
    webhookEvents,
    channelIds: channels.map(({ channelId }) => channelId),
    dispatchedAt: due ? null : timestamp,
  };
}

function payloadOf(monitor: LockedMonitor, change: PendingChange, event: WebhookEvent, timestamp: number) {
  if (change.to === 'PENDING') throw new Error('PENDING is never announced');
  return {
    event,
    monitorId: monitor.id,
    monitorName: monitor.name,
    status: change.to,
    previousStatus: change.from,
    latency: change.latencyMs,
    errorReason: change.to === 'DOWN' ? (change.errorReason ?? 'UNKNOWN_ERROR') : null,
    region: change.region,
    timestamp: new Date(timestamp).toISOString(),
    runbookUrl: monitor.runbookUrl,
  } satisfies WebhookPayload;
}

async function findOpenIncidents(tx: Transaction, monitorIds: string[]): Promise<Set<string>> {
  return new Set(
    await queryColumn(tx)`
      select monitor_id from incidents where monitor_id = any(${arrayOf('uuid', monitorIds)}) and resolved_at is null`,
  );
}

const assignment = z.object({
  monitorId: z.string(),
  channelId: z.string(),
  /** Null: all. */
  events: z.array(z.enum(WEBHOOK_EVENTS)).nullable(),
});
type AssignedChannel = Omit<z.output<typeof assignment>, 'monitorId'>;

/** The channels of each monitor: those that select everything, list it, or match its labels. */
async function findAssignedChannels(tx: Transaction, monitorIds: readonly string[]) {
  const rows = await query(tx, assignment)`
    select m.id as monitor_id, c.id as channel_id, c.events
    from monitors m cross join lateral (
      select c.id, c.events from channels c
      where c.account_id = m.account_id and c.deleted_at is null and ${selectsAll('channel', 'c')}
      union
      select c.id, c.events from channel_monitors a join channels c on c.id = a.channel_id where a.monitor_id = m.id
    ) c
    where m.id = any(${arrayOf('uuid', monitorIds)})
    order by m.id, c.id`;
  const channels = new Map<string, AssignedChannel[]>(monitorIds.map((id) => [id, []]));
  for (const { monitorId, ...channel } of rows) channels.get(monitorId)?.push(channel);
  return channels;
}
