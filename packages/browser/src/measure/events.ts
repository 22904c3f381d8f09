import { setTimeout as wait } from 'node:timers/promises';
import { insertMonitors, untilApplied } from '@tocsin/lab/monitors';
import { insertPastEvents } from '@tocsin/lab/past-events';
import type { System } from '@tocsin/lab/system';

/** One for each bar of a row. */
const EVENTS_EACH = 30;
const MINUTE_MS = 60_000;
const EVERY_MS = 100;

const NAMES = `
  update monitors m set name = (array['Shop', 'Search', 'Payments', 'Mail', 'Images'])[1 + number % 5] || ' ' || number,
    status = case when number % 97 = 0 then 'DOWN' else 'UP' end,
    last_checked_at = date_trunc('milliseconds', clock_timestamp()),
    last_timestamp = date_trunc('milliseconds', clock_timestamp())
  from unnest($1::uuid[]) with ordinality as created (id, number) where m.id = created.id`;

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

/**
 * Inserts monitors with half an hour of events, and names to sort and search. Waits until the api has scheduled them, so that it is idle
 * during the measurements.
 * @returns their ids
 */
export async function insertCheckedMonitors(system: System, count: number): Promise<string[]> {
  const ids = await insertMonitors(system, {
    count,
    intervalSeconds: 60,
    url: (number) => `https://service-${number}.example.com/health`,
  });
  const { pool } = system.database;
  await pool.query(NAMES, [ids]);
  const span = { from: Date.now() - EVENTS_EACH * MINUTE_MS, to: Date.now() };
  await insertPastEvents(pool, { monitorIds: ids, span, perMonitor: EVENTS_EACH });
  await pool.query('analyze');
  await untilApplied(system);
  return ids;
}

/** Records events at a fixed rate, cycling through the monitors. @returns the number of events */
export async function recordEvents(
  { database }: System,
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
    await database.pool.query(RECORD, [ids]);
    recorded += due;
    await wait(EVERY_MS);
  }
}
