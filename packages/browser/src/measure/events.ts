import { setTimeout as wait } from 'node:timers/promises';
import { phaseMs } from '@tocsin/core/schedule/slots';
import { until } from '@tocsin/embedded/testing/until';
import type { Client } from 'pg';

const INTERVAL_SECONDS = 60;
/** As many as a row has bars. */
const EVENTS_EACH = 30;

/**
 * Inserts monitors with half an hour of events, and names to sort and search. Resolves when the api has scheduled them, so that it is idle during
 * the measurements. @returns their ids
 */
export async function insertMonitors(client: Client, accountId: string, count: number): Promise<string[]> {
  const { rows } = await client.query(
    `insert into monitors (id, account_id, name, url, type, interval_seconds, timeout_seconds, method, failure_threshold,
       regions, status, last_checked_at, last_timestamp)
     select uuidv7(), $1, (array['Shop', 'Search', 'Payments', 'Mail', 'Images'])[1 + number % 5] || ' ' || number,
       'https://service-' || number || '.example.com/health', 'HTTP', $3, 10, 'GET', 1, '{}',
       case when number % 97 = 0 then 'DOWN' else 'UP' end,
       date_trunc('milliseconds', clock_timestamp()), date_trunc('milliseconds', clock_timestamp())
     from generate_series(1, $2::int) as number
     returning id`,
    [accountId, count, INTERVAL_SECONDS],
  );
  const ids = (rows as { id: string }[]).map(({ id }) => id);
  await client.query(
    `with assigned as (
       insert into monitor_regions (monitor_id, region) select unnest($1::uuid[]), 'default')
     insert into schedule_spans (monitor_id, region, interval_seconds, phase_ms)
     select id, 'default', $3, phase from unnest($1::uuid[], $2::int[]) as planned (id, phase)`,
    [ids, ids.map((id) => phaseMs(id, INTERVAL_SECONDS * 1_000)), INTERVAL_SECONDS],
  );
  await client.query(
    `insert into events (monitor_id, timestamp, id, status, latency_ms, status_code, region, source, slot, tcp_ms,
       first_byte_ms)
     select id, moment, gen_random_uuid(), 'UP', (60 + 80 * random())::int, 200, 'default', 'schedule', moment, 20, 40
     from unnest($1::uuid[]) as id
     cross join lateral (
       select date_trunc('milliseconds', now()) - make_interval(mins => number) as moment
       from generate_series(1, $2::int) as number
     ) as planned`,
    [ids, EVENTS_EACH],
  );
  await client.query('analyze');
  await until('all schedules', () => areScheduled(client), 300_000);
  return ids;
}

async function areScheduled(client: Client): Promise<boolean> {
  const { rows } = await client.query(
    `select count(*)::int as count from monitor_regions r join monitors m on m.id = r.monitor_id
     where r.scheduled_revision is distinct from m.revision`,
  );
  return (rows as { count: number }[])[0]?.count === 0;
}

const EVERY_MS = 100;

/** Records events like a checker, and advances the clocks of their monitors. */
const RECORD = `
  with stamped as (
    update monitors set last_checked_at = clock_timestamp(),
      last_timestamp = greatest(date_trunc('milliseconds', clock_timestamp()), last_timestamp + interval '1 millisecond')
    where id = any($1::uuid[])
    returning id, last_timestamp)
  insert into events (monitor_id, timestamp, id, status, latency_ms, status_code, region, source, slot, tcp_ms, first_byte_ms)
  select id, last_timestamp, gen_random_uuid(), 'UP', (60 + 80 * random())::int, 200, 'default', 'schedule', last_timestamp,
    20, 40
  from stamped`;

/** Records events of one monitor after the other. @returns how many */
export async function recordEvents(
  client: Client,
  monitorIds: readonly string[],
  perSecond: number,
  seconds: number,
): Promise<number> {
  const start = performance.now();
  let recorded = 0;
  for (;;) {
    const elapsed = performance.now() - start;
    if (elapsed >= seconds * 1_000) return recorded;
    const due = Math.min(Math.floor((elapsed / 1_000) * perSecond) - recorded, monitorIds.length);
    const ids = Array.from({ length: due }, (_, index) => monitorIds[(recorded + index) % monitorIds.length]);
    await client.query(RECORD, [ids]);
    recorded += due;
    await wait(EVERY_MS);
  }
}
