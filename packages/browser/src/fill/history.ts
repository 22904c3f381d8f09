import { LATENCY_BOUNDS } from '@tocsin/core/stats/latency-histogram';
import { ensureRollupPartition } from '@tocsin/db/check-rollups/partitions';
import { insertPastEvents, setCreatedAt, setRolledUntil } from '@tocsin/lab/past-events';
import type { System } from '@tocsin/lab/system';

const DAYS = 90;
const DAYS_WITHIN_A_MONTH = 28;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** One every three minutes of the last 23 hours. */
const EVENTS_PER_MONITOR = 460;

/**
 * Inserts past results of these monitors: events of the last day, hourly figures of 90 days, and resolved incidents with their status
 * changes. Every fourth monitor has an outage, and some have inconclusive results. At the end, all are up.
 */
export async function insertHistory({ database }: System, monitorIds: readonly string[]): Promise<void> {
  // The api creates only the partitions that it needs.
  for (let days = -DAYS; days < DAYS_WITHIN_A_MONTH; days += DAYS_WITHIN_A_MONTH)
    await ensureRollupPartition(database.db, new Date(Date.now() + days * DAY_MS));
  const now = Date.now();
  const client = await database.pool.connect();
  try {
    await client.query('begin');
    await client.query("set local time zone 'UTC'");
    await insertPastEvents(client, {
      monitorIds,
      span: { from: now - 23 * HOUR_MS, to: now - 5 * MINUTE_MS },
      perMonitor: EVENTS_PER_MONITOR,
      region: 'eu-west',
      outage: { from: now - 9 * HOUR_MS, to: now - 8 * HOUR_MS - 40 * MINUTE_MS },
    });
    await client.query(INCONCLUSIVE, [monitorIds]);
    await client.query(ROLLUPS, [monitorIds, LATENCY_BOUNDS, DAYS]);
    await setRolledUntil(client, now - (now % HOUR_MS));
    await setCreatedAt(client, monitorIds, now - (DAYS + 1) * DAY_MS);
    for (const statement of [INCIDENTS, STATUS_CHANGES, UP]) await client.query(statement, [monitorIds]);
    await client.query('commit');
    await client.query('analyze events, check_rollups, incidents, status_changes');
  } finally {
    client.release();
  }
}

/** A curve over the day, with noise that differs per monitor. */
const LATENCY = `(70 + 15 * number + 40 * sin(extract(epoch from moment) / 13750) + 30 * random())::int`;

/** Inserts results from a minute in which a region had no network. */
const INCONCLUSIVE = `
  insert into events (monitor_id, timestamp, id, status, latency_ms, error_reason, error_detail, inconclusive, region,
    source, slot)
  select id, moment, gen_random_uuid(), 'DOWN', 0, 'DNS_ERROR', 'the name could not be resolved', true, 'eu-west',
    'schedule', moment
  from unnest(($1::uuid[])[1:4]) as monitor (id),
    generate_series(now() - interval '4 minutes', now() - interval '3 minutes', interval '10 seconds') as moment`;

const ROLLUPS = `
  insert into check_rollups (monitor_id, region, hour, checks, failures, inconclusive, gaps, latency_buckets, latency_counts,
    timed_checks, dns_sum_ms, tcp_sum_ms, tls_sum_ms, first_byte_sum_ms, download_sum_ms)
  select id, region, moment, 60, failures, inconclusive, 0,
    array[width_bucket(latency, $2::int[]), width_bucket(latency * 2, $2::int[])]::smallint[], array[56, 4], 60,
    120, 540, 960, (latency - 30) * 60, 360
  from (
    select id, region, moment, ${LATENCY} as latency,
      case when (extract(epoch from moment)::bigint / 3600 + number * 31) % 397 = 0 then 14 else 0 end as failures,
      case when region = 'eu-west' and moment = date_trunc('hour', now()) - interval '5 hours' then 12 else 0 end
        as inconclusive
    from unnest($1::uuid[]) with ordinality as monitor (id, number), unnest(array['eu-west', 'us-east']) as region,
      generate_series(date_trunc('hour', now()) - make_interval(days => $3), date_trunc('hour', now()) - interval '1 hour',
        interval '1 hour') as moment
  ) as planned
  on conflict do nothing`;

/** Inserts the first status change of each monitor, and the status changes of the incidents. */
const STATUS_CHANGES = `
  insert into status_changes (id, account_id, monitor_id, from_status, to_status, region, timestamp, webhook_events,
    channel_ids, dispatched_at)
  select gen_random_uuid(), account_id, monitor_id, case status when 'DOWN' then 'UP' else 'DOWN' end, status, region,
    moment, '[]'::jsonb, '{}'::uuid[], moment
  from incidents cross join lateral (values ('DOWN', opened_at), ('UP', resolved_at)) as change (status, moment)
  where monitor_id = any($1) and moment is not null
  union all
  select gen_random_uuid(), account_id, id, 'PENDING', 'UP', 'eu-west', created_at + interval '10 seconds',
    '[]'::jsonb, '{}'::uuid[], now()
  from monitors where id = any($1)`;

/** Marks monitors as up since their latest incident. */
const UP = `
  update monitors set status = 'UP', last_checked_at = coalesce(last_checked_at, now()), status_since = coalesce(
    (select max(resolved_at) from incidents where monitor_id = monitors.id), created_at + interval '10 seconds')
  where id = any($1)`;

const INCIDENTS = `
  insert into incidents (id, account_id, monitor_id, opened_at, resolved_at, cause, error_detail, region)
  select gen_random_uuid(), m.account_id, m.id, opened_at, opened_at + make_interval(mins => (3 + 7 * number)::int),
    (array['HTTP_503', 'TIMEOUT', 'CONNECTION_REFUSED'])[(1 + number % 3)::int],
    (array['expected a status from 200 to 399, got 503', 'no response within 4 s',
      'the server refused the connection on port 443'])[(1 + number % 3)::int], 'eu-west'
  from unnest($1::uuid[]) with ordinality as monitor (id, number)
  join monitors m using (id)
  cross join lateral (select date_trunc('milliseconds', now()) - make_interval(hours => (8 + 17 * number)::int) as opened_at) as outage
  where number % 3 <> 0`;
