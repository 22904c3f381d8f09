import type { WebhookEvent } from '@tocsin/contracts/vocabulary';
import type { Labels } from '@tocsin/contracts/labels/labels';
import type { WebhookPayload } from '@tocsin/contracts/deliveries/webhook';
import type { PendingChange } from '@tocsin/core/status/monitor-draft';
import { webhookEventsOf } from '@tocsin/core/status/webhook-events';
import { sql } from 'drizzle-orm';
import { v7 as uuidv7 } from 'uuid';
import { selectsAll } from '../assignments/assignments.ts';
import type { Transaction } from '../database/open.ts';
import { PREPARE } from '../database/preparing-client.ts';
import { arrayOf, queryColumn, tableOf, inOneRoundTrip } from '../database/sql.ts';
import { incidents } from '../incidents/table.ts';
import type { LockedMonitor } from './locked-monitor.ts';
import type { FrozenWebhookEvent } from './table.ts';

export interface WrittenChange {
  readonly id: string;
  /** When the monitor took its new status, epoch milliseconds. */
  readonly timestamp: number;
  /** True if its deliveries still have to be created. */
  readonly due: boolean;
}

/** Writes what a transaction has decided about monitors. No other code writes statuses. @returns the status changes by monitor */
export async function writeStatuses(
  tx: Transaction,
  locked: Iterable<LockedMonitor>,
): Promise<Map<string, WrittenChange>> {
  const changed = [...locked].filter((monitor) => monitor.isChanged);
  if (changed.length === 0) return new Map();
  const changes = await planChanges(
    tx,
    changed.flatMap((monitor) => (monitor.change === null ? [] : [{ monitor, change: monitor.change }])),
  );
  const [dueIds] = await inOneRoundTrip(writeChanges(tx, changes), updateMonitors(tx, changed, changes));
  return new Map(
    changes.map(({ row: { id, monitorId, timestamp } }) => [
      monitorId,
      { id, timestamp: timestamp.getTime(), due: dueIds.has(id) },
    ]),
  );
}

async function updateMonitors(
  tx: Transaction,
  monitors: readonly LockedMonitor[],
  changes: readonly PlannedChange[],
): Promise<void> {
  const changeOf = new Map(changes.map((change) => [change.row.monitorId, change]));
  await tx.execute(sql`${PREPARE}
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
    from ${tableOf('u', monitors, {
      id: ['uuid', (monitor) => monitor.id],
      status: ['text', (monitor) => monitor.status],
      status_since: ['timestamptz', (monitor) => changeOf.get(monitor.id)?.row.timestamp ?? null],
      status_before: ['text', (monitor) => monitor.statusBeforeMaintenance],
      error_detail: ['text', ({ change }) => (change?.to === 'DOWN' ? change.errorDetail : null)],
      checked_at: ['timestamptz', (monitor) => monitor.lastCheckedAt],
      last_timestamp: ['timestamptz', (monitor) => monitor.clock.last],
      opened: ['int', (monitor) => Number(changeOf.get(monitor.id)?.opens === true)],
    })}
    where m.id = u.id`);
}

interface Change {
  readonly monitor: LockedMonitor;
  readonly change: PendingChange;
}

interface PlannedChange {
  readonly row: ReturnType<typeof toRow>;
  readonly cause: PendingChange['errorReason'];
  readonly opens: boolean;
  readonly resolves: boolean;
}

async function planChanges(tx: Transaction, changes: readonly Change[]): Promise<PlannedChange[]> {
  if (changes.length === 0) return [];
  const monitorIds = changes.map(({ monitor }) => monitor.id);
  const open = await findOpenIncidents(tx, monitorIds);
  return changes.map(({ monitor, change }) => {
    const isOpen = open.has(monitor.id);
    return {
      row: toRow(monitor, change, isOpen),
      cause: change.errorReason,
      // The announcement of DOWN opens an incident. A DOWN that silently returns after maintenance is not new.
      opens: change.to === 'DOWN' && change.announced && !isOpen,
      resolves: change.to === 'UP' && isOpen,
    };
  });
}

/** Writes status changes. @returns the ids of those whose deliveries have to be created */
async function writeChanges(tx: Transaction, changes: readonly PlannedChange[]): Promise<Set<string>> {
  if (changes.length === 0) return new Set();
  const [, , written] = await inOneRoundTrip(
    openIncidents(tx, changes),
    resolveIncidents(tx, changes),
    insertChanges(tx, changes),
  );
  return new Set(written);
}

/** PostgreSQL looks up the channels, because monitors times channels may exceed our memory. @returns the ids with a receiver */
function insertChanges(tx: Transaction, changes: readonly PlannedChange[]): Promise<string[]> {
  return queryColumn(tx)`
    with written as (
      insert into status_changes (id, account_id, monitor_id, from_status, to_status, region, error_detail, timestamp,
        webhook_events, channel_ids, dispatched_at)
      select s.id, s.account_id, s.monitor_id, s.from_status, s.to_status, s.region, s.error_detail, s.timestamp,
        c.webhook_events, c.channel_ids, case when not c.is_due then s.timestamp end
      from ${tableOf('s', changes, {
        id: ['uuid', ({ row }) => row.id],
        account_id: ['uuid', ({ row }) => row.accountId],
        monitor_id: ['uuid', ({ row }) => row.monitorId],
        from_status: ['text', ({ row }) => row.fromStatus],
        to_status: ['text', ({ row }) => row.toStatus],
        region: ['text', ({ row }) => row.region],
        error_detail: ['text', ({ row }) => row.errorDetail],
        timestamp: ['timestamptz', ({ row }) => row.timestamp],
        webhook_events: ['jsonb', ({ row }) => JSON.stringify(row.webhookEvents)],
      })}
      cross join lateral ${CHANNELS} c
      returning id, dispatched_at)
    select id from written where dispatched_at is null`;
}

/** Selects the channels of status change `s`, and its webhook events. An event names its channels only if a filter excludes some. */
const CHANNELS = sql`(
  with assigned as materialized (
    select c.id, c.events from channels c
    where c.account_id = s.account_id and c.deleted_at is null and ${selectsAll('channel', 'c')}
    union
    select c.id, c.events from channel_monitors a join channels c on c.id = a.channel_id where a.monitor_id = s.monitor_id)
  select
    (select coalesce(array_agg(id order by id), '{}') from assigned) as channel_ids,
    coalesce(bool_or(cardinality(r.ids) > 0), false) as is_due,
    coalesce(jsonb_agg(case when r.is_filtered then e.value || jsonb_build_object('channelIds', r.ids) else e.value end
      order by e.number), '[]') as webhook_events
  from jsonb_array_elements(s.webhook_events) with ordinality as e (value, number)
  cross join lateral (
    select coalesce(array_agg(id order by id) filter (where is_receiver), '{}') as ids,
      coalesce(bool_or(not is_receiver), false) as is_filtered
    from (select id, events is null or e.value ->> 'event' = any(events) as is_receiver from assigned) a) r)`;

async function openIncidents(tx: Transaction, changes: readonly PlannedChange[]): Promise<void> {
  const opened = changes.flatMap(({ opens, row, cause }) => {
    const { accountId, monitorId, timestamp: openedAt, region, errorDetail } = row;
    const incident = {
      accountId,
      monitorId,
      openedAt,
      region,
      cause: cause ?? 'UNKNOWN_ERROR',
      errorDetail,
      labels: sql<Labels>`(select labels from monitors where id = ${monitorId})`,
    } as const;
    return opens ? [incident] : [];
  });
  if (opened.length > 0) await tx.insert(incidents).values(opened);
}

async function resolveIncidents(tx: Transaction, changes: readonly PlannedChange[]): Promise<void> {
  const resolving = changes.filter(({ resolves }) => resolves);
  if (resolving.length === 0) return;
  await tx.execute(sql`
    update incidents i set resolved_at = u.resolved_at
    from ${tableOf('u', resolving, {
      monitor_id: ['uuid', ({ row }) => row.monitorId],
      resolved_at: ['timestamptz', ({ row }) => row.timestamp],
    })}
    where i.monitor_id = u.monitor_id and i.resolved_at is null`);
}

function toRow(monitor: LockedMonitor, change: PendingChange, isIncidentOpen: boolean) {
  const timestamps: number[] = [];
  const webhookEvents: FrozenWebhookEvent[] = [];
  const events = change.isDeletion
    ? (['incident.resolved'] as const)
    : webhookEventsOf(change.to, change.announced, isIncidentOpen);
  for (const event of events) {
    const stamp = monitor.clock.next();
    timestamps.push(stamp);
    const payload = JSON.stringify(payloadOf(monitor, change, event, stamp));
    webhookEvents.push({ event, payload, traceparent: change.traceparent });
  }
  return {
    id: uuidv7(),
    accountId: monitor.accountId,
    monitorId: monitor.id,
    fromStatus: change.from,
    toStatus: change.to,
    region: change.region,
    errorDetail: change.to === 'DOWN' ? change.errorDetail : null,
    timestamp: new Date(timestamps[0] ?? monitor.clock.last),
    webhookEvents,
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
