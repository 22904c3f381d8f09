import { countSlots, type Span } from '@tocsin/bench/measure/slots';
import type { ImplyingEvent } from '@tocsin/lab/oracle';
import type { ReceivedWebhook } from '@tocsin/embedded/local-web/webhook-receiver';
import type { SystemLoad } from '../load/system-load.ts';

/** What the ends of the system saw of a time of load: the targets, Postgres, the receiver, a client of the live stream. */
export interface Readings {
  /** Those that stay; the first `flapping` of them go up and down and have a channel. */
  readonly monitorIds: readonly string[];
  readonly flapping: number;
  /** When the target of each monitor was asked, epoch milliseconds, by its place in `monitorIds`. */
  readonly requests: ReadonlyMap<number, readonly number[]>;
  /** How many of them it answered with 500. */
  readonly failedRequests: ReadonlyMap<number, number>;
  readonly eventCounts: ReadonlyMap<string, EventCount>;
  /** All events of those that go up and down, in the order of their stamps. */
  readonly flappingEvents: ReadonlyMap<string, readonly ImplyingEvent[]>;
  /** Planned checks of the span: how many there should be, have an event, and events of them. */
  readonly slots: { readonly planned: number; readonly checked: number; readonly events: number };
  /** Why slots were missed, as far as the checkers knew. */
  readonly misses: Readonly<Record<string, number>>;
  readonly statusChanges: number;
  readonly deliveryIds: ReadonlySet<string>;
  /** What attempts came to that failed. */
  readonly failures: readonly string[];
  readonly received: readonly ReceivedWebhook[];
  /** Of the events stamped within the span. */
  readonly eventIds: readonly string[];
  readonly streamed: ReadonlySet<string>;
}

/** The events of a monitor, and those of them that say that its target answered so. */
interface EventCount {
  readonly all: number;
  readonly passed: number;
  readonly failed: number;
}

/** To be called when the services have stopped. @param span when the load was on */
export async function readEnds(load: SystemLoad, span: Span): Promise<Readings> {
  const { pool } = load.lab.database;
  const range = [new Date(span.from), new Date(span.to)];
  const { monitorIds, flapping } = load;
  const counts = await pool.query<EventCount & { id: string }>(
    `select monitor_id as id, count(*)::int as all, count(*) filter (where status_code = 200)::int as passed,
       count(*) filter (where status_code = 500)::int as failed
     from events group by monitor_id`,
  );
  const planned = await pool.query<{ events: number; checked: number }>(
    `select count(*)::int as events, count(distinct (monitor_id, slot))::int as checked
     from events where slot >= $1 and slot < $2 and monitor_id = any($3::uuid[])`,
    [...range, monitorIds],
  );
  const changes = await pool.query<{ count: number }>(
    'select count(*)::int as count from status_changes where jsonb_array_length(webhook_events) > 0',
  );
  const deliveries = await pool.query<{ id: string }>('select id from deliveries');
  const failed = await pool.query<{ error: string }>('select error from attempts where error is not null');
  const stamped = await pool.query<{ id: string }>(
    'select id from events where timestamp >= $1 and timestamp < $2',
    range,
  );
  return {
    monitorIds,
    flapping,
    requests: load.target.requests,
    failedRequests: load.target.failures,
    eventCounts: new Map(counts.rows.map((count) => [count.id, count])),
    flappingEvents: await readFlappingEvents(load),
    slots: {
      planned: countSlots(monitorIds, load.options.interval * 1_000, span),
      checked: planned.rows[0]?.checked ?? 0,
      events: planned.rows[0]?.events ?? 0,
    },
    misses: load.misses,
    statusChanges: changes.rows[0]?.count ?? 0,
    deliveryIds: new Set(deliveries.rows.map(({ id }) => id)),
    failures: failed.rows.map(({ error }) => error),
    received: load.receiver.received,
    eventIds: stamped.rows.map(({ id }) => id),
    streamed: load.streamed,
  };
}

async function readFlappingEvents(load: SystemLoad): Promise<Map<string, ImplyingEvent[]>> {
  const { rows } = await load.lab.database.pool.query<
    Omit<ImplyingEvent, 'timestamp'> & { monitorId: string; timestamp: Date }
  >(
    `select monitor_id as "monitorId", timestamp, status, latency_ms as latency, error_reason as "errorReason", region
     from events where monitor_id = any($1::uuid[]) order by timestamp`,
    [load.monitorIds.slice(0, load.flapping)],
  );
  const events = new Map<string, ImplyingEvent[]>();
  for (const { monitorId, timestamp, ...rest } of rows) {
    const event = { ...rest, timestamp: timestamp.toISOString() };
    const known = events.get(monitorId);
    if (known) known.push(event);
    else events.set(monitorId, [event]);
  }
  return events;
}
