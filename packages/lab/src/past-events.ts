import type { ClientBase } from 'pg';
import type { Span } from './slots.ts';

type Queries = Pick<ClientBase, 'query'>;

export interface PastEvents {
  readonly monitorIds: readonly string[];
  /** The slots of each monitor are spread evenly over the span. */
  readonly span: Span;
  readonly perMonitor: number;
  /** Defaults to `events`. */
  readonly table?: string;
  /** Defaults to `default`. */
  readonly region?: string;
  /** Every fourth monitor fails in this time. By default, one check in a hundred fails. */
  readonly outage?: Span;
}

/** Inserts past checks of targets at various distances. The timings of a monitor vary as in a network. */
export async function insertPastEvents(
  client: Queries,
  { monitorIds, span, perMonitor, table = 'events', region = 'default', outage }: PastEvents,
): Promise<void> {
  await client.query(
    `insert into ${table} (monitor_id, timestamp, id, status, latency_ms, status_code, error_reason, error_detail, region,
       source, slot, dns_ms, tcp_ms, tls_ms, first_byte_ms, download_ms)
     select monitor_id, "timestamp", event_id(monitor_id, "timestamp"), case when fails then 'DOWN' else 'UP' end, latency,
       case when fails then 503 else 200 end, case when fails then 'HTTP_503' end,
       case when fails then 'expected a status from 200 to 399, got 503' end, $6, 'schedule', slot, dns, tcp, tls,
       first_byte, download
     from (
       select monitor_id, position, 2 + random() * 30 as distance, 20 + random() * 200 as work
       from unnest($1::uuid[]) with ordinality as monitor (monitor_id, position)
     ) as monitor
     cross join lateral (
       select to_timestamp(($2::float8 + number * $4::float8) / 1000)::timestamptz(3) as slot, random() as chance,
         case when random() < 0.8 then 0 else (1 + random() * 4)::int end as dns,
         (distance - ln(random() + 1e-9) * 1.5)::int as tcp, (distance * 1.3 - ln(random() + 1e-9) * 2)::int as tls,
         (distance + work - ln(random() + 1e-9) * work * 0.15)::int as first_byte, (random() * 1.2)::int as download
       from generate_series(0, $3::int - 1) as number
     ) as measured
     cross join lateral (
       select dns + tcp + tls + first_byte + download as latency,
         case when $7::timestamptz is null then chance < 0.01
           else position % 4 = 1 and slot between $7 and $8::timestamptz end as fails
     ) as derived
     cross join lateral (
       select least(slot + (latency + random() * 20) * interval '1 ms', $5::timestamptz - interval '1 ms')::timestamptz(3)
         as "timestamp"
     ) as recorded
     order by monitor_id, "timestamp"`,
    [
      monitorIds,
      span.from,
      perMonitor,
      (span.to - span.from) / perMonitor,
      new Date(span.to),
      region,
      outage && new Date(outage.from),
      outage && new Date(outage.to),
    ],
  );
}

/** Makes monitors as old as their events. @param createdAt epoch milliseconds */
export async function setCreatedAt(
  client: Queries,
  monitorIds: readonly string[],
  createdAt: number,
): Promise<void> {
  await client.query('update monitors set created_at = $2 where id = any($1)', [
    monitorIds,
    new Date(createdAt),
  ]);
}

/** Marks the hours before a time as rolled up. @param time epoch milliseconds */
export async function setRolledUntil(client: Queries, time: number): Promise<void> {
  await client.query(
    `insert into check_rollup_state (rolled_until) values ($1)
     on conflict (singleton) do update set rolled_until = excluded.rolled_until`,
    [new Date(time)],
  );
}
