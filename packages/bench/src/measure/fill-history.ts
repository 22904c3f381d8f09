import type { System } from '@tocsin/lab/system';
import { Client } from 'pg';
import type { Span } from '@tocsin/lab/slots';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

export interface HistoryPlan {
  readonly monitorIds: readonly string[];
  /** In total, spread evenly over the monitors and the days. */
  readonly events: number;
  /** Whole UTC days. The last one ends at the start of yesterday. */
  readonly days: number;
  /** One of the monitors, with this many events instead of an equal share; null for none. */
  readonly big: { readonly monitorId: string; readonly events: number } | null;
}

/** Writes past events, one partition per day, as the system would have done over time. @returns their span */
export async function fillHistory(
  system: System,
  plan: HistoryPlan,
  onDay?: (day: number) => void,
): Promise<Span> {
  const to = Math.floor(Date.now() / DAY_MS) * DAY_MS - DAY_MS;
  const from = to - plan.days * DAY_MS;
  await withClient(system, async (client) => {
    for (let day = 0; day < plan.days; day += 1) {
      await fillDay(client, plan, from + day * DAY_MS);
      onDay?.(day + 1);
    }
    await setCreatedAt(client, from);
    await client.query('analyze events');
  });
  return { from, to };
}

/** Makes all monitors as old as their events. */
export async function setCreatedAt(client: Client, createdAt: number): Promise<void> {
  await client.query('update monitors set created_at = $1', [new Date(createdAt)]);
}

/** Inserts rows in the order of the key, then adds the key: much faster than inserting into an attached partition. */
async function fillDay(client: Client, plan: HistoryPlan, start: number): Promise<void> {
  const [from, to] = [start, start + DAY_MS].map((time) => new Date(time).toISOString());
  const name = `events_${from?.slice(0, 10).replaceAll('-', '_')}`;
  const { big, days, events, monitorIds } = plan;
  const others = monitorIds.filter((id) => id !== big?.monitorId);
  const share = Math.max(1, Math.round((events - (big?.events ?? 0)) / others.length / days));
  await client.query(`create table ${name} (like events including defaults)`);
  await insert(client, name, others, share, start);
  if (big !== null) await insert(client, name, [big.monitorId], Math.round(big.events / days), start);
  await client.query(`alter table ${name} add primary key (monitor_id, timestamp)`);
  await client.query(`vacuum (analyze) ${name}`);
  await client.query(`alter table events attach partition ${name} for values from ('${from}') to ('${to}')`);
}

/** Checks of targets at various distances: each phase varies as in a network, and one check in a hundred fails. */
async function insert(
  client: Client,
  name: string,
  monitorIds: readonly string[],
  perMonitor: number,
  start: number,
): Promise<void> {
  await client.query(
    `insert into ${name} (monitor_id, timestamp, id, status, latency_ms, status_code, error_reason, error_detail, region,
       source, slot, dns_ms, tcp_ms, tls_ms, first_byte_ms, download_ms)
     select monitor_id, "timestamp", event_id(monitor_id, "timestamp"), case when fails then 'DOWN' else 'UP' end, latency,
       case when fails then 503 else 200 end, case when fails then 'HTTP_503' end,
       case when fails then 'responded with 503' end, 'default', 'schedule', slot, dns, tcp, tls, first_byte, download
     from (
       select monitor_id, 2 + random() * 30 as distance, 20 + random() * 200 as work from unnest($1::uuid[]) as monitor_id
     ) as monitor
     cross join lateral (
       select to_timestamp(($2::float8 + number * $4::float8) / 1000)::timestamptz(3) as slot, random() < 0.01 as fails,
         case when random() < 0.8 then 0 else (1 + random() * 4)::int end as dns,
         (distance - ln(random() + 1e-9) * 1.5)::int as tcp, (distance * 1.3 - ln(random() + 1e-9) * 2)::int as tls,
         (distance + work - ln(random() + 1e-9) * work * 0.15)::int as first_byte, (random() * 1.2)::int as download
       from generate_series(0, $3::int - 1) as number
     ) as measured
     cross join lateral (select dns + tcp + tls + first_byte + download as latency) as summed
     cross join lateral (
       select least(slot + (latency + random() * 20) * interval '1 ms', $5::timestamptz - interval '1 ms')::timestamptz(3)
         as "timestamp"
     ) as recorded
     order by monitor_id, "timestamp"`,
    [monitorIds, start, perMonitor, DAY_MS / perMonitor, new Date(start + DAY_MS)],
  );
}

/** The start of an hour in the past, epoch milliseconds. */
export function hoursAgo(hours: number): number {
  return (Math.floor(Date.now() / HOUR_MS) - hours) * HOUR_MS;
}

/** Sets the time up to which hours are rolled up, epoch milliseconds. */
export async function setRolledUntil(system: System, time: number): Promise<void> {
  await system.database.pool.query(
    `insert into check_rollup_state (rolled_until) values ($1)
     on conflict (singleton) do update set rolled_until = excluded.rolled_until`,
    [new Date(time)],
  );
}

/** Works on a session of its own, because those of the pool have time limits. */
export async function withClient<Result>(
  { databaseUrl }: System,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
