import type { System } from '@tocsin/lab/system';
import { Client } from 'pg';

const DAY_MS = 86_400_000;

export interface HistoryPlan {
  readonly monitorIds: readonly string[];
  /** In all, evenly over the monitors and the days. */
  readonly events: number;
  /** Whole UTC days, the last one ends before yesterday. */
  readonly days: number;
  /** A monitor of those that has this many instead of its fair share; null for none. */
  readonly big: { readonly monitorId: string; readonly events: number } | null;
}

/** Writes events of the past, a partition a day, as the system would have over time. @returns what days they are of */
export async function fillHistory(
  system: System,
  plan: HistoryPlan,
  onDay: (day: number) => void = () => undefined,
): Promise<{ days: { from: Date; to: Date } }> {
  // The pool limits how long its connections may work.
  const client = new Client({ connectionString: system.databaseUrl });
  await client.connect();
  const end = Math.floor(Date.now() / DAY_MS) * DAY_MS - DAY_MS;
  try {
    for (let day = plan.days; day >= 1; day -= 1) {
      await fillDay(client, plan, end - day * DAY_MS);
      onDay(plan.days - day + 1);
    }
    await client.query('analyze events');
  } finally {
    await client.end();
  }
  return { days: { from: new Date(end - plan.days * DAY_MS), to: new Date(end) } };
}

/** Inserts rows in the order of the key, then adds the key: many times as fast as inserting into an attached partition. */
async function fillDay(client: Client, plan: HistoryPlan, start: number): Promise<void> {
  const name = `events_${new Date(start).toISOString().slice(0, 10).replaceAll('-', '_')}`;
  const { big, days, events, monitorIds } = plan;
  const others = big === null ? monitorIds : monitorIds.filter((id) => id !== big.monitorId);
  const share = Math.max(1, Math.round((events - (big?.events ?? 0)) / others.length / days));
  await client.query(`create table ${name} (like events)`);
  await insert(client, name, others, share, start);
  if (big !== null) await insert(client, name, [big.monitorId], Math.round(big.events / days), start);
  await client.query(`alter table ${name} add primary key (monitor_id, timestamp)`);
  await client.query(`vacuum (analyze) ${name}`);
  await client.query(
    `alter table events attach partition ${name}
     for values from ('${new Date(start).toISOString()}') to ('${new Date(start + DAY_MS).toISOString()}')`,
  );
}

async function insert(
  client: Client,
  name: string,
  monitorIds: readonly string[],
  perMonitor: number,
  start: number,
): Promise<void> {
  await client.query(
    `insert into ${name} (monitor_id, timestamp, id, status, latency_ms, status_code, region, source, slot, tcp_ms,
       first_byte_ms)
     select monitor_id, moment, gen_random_uuid(), 'UP', 80 + number % 40, 200, 'default', 'schedule', moment, 20, 60
     from unnest($1::uuid[]) as monitor_id
     cross join lateral (
       select number, to_timestamp(($2::float8 + number * $4::float8) / 1000) as moment
       from generate_series(0, $3::int - 1) as number
     ) as planned
     order by monitor_id, moment`,
    [monitorIds, start, perMonitor, DAY_MS / perMonitor],
  );
}
