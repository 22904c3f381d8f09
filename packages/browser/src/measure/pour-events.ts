import { setTimeout as wait } from 'node:timers/promises';
import type { Client } from 'pg';

const EVERY_MS = 100;

/** What a checker records, without the checks: events, and the clock of their monitors, in one statement. */
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

/** Records so many events a second, of one monitor after the other. @returns how many it were */
export async function pourEvents(
  client: Client,
  monitorIds: readonly string[],
  perSecond: number,
  seconds: number,
): Promise<number> {
  const start = performance.now();
  let poured = 0;
  for (;;) {
    const elapsed = performance.now() - start;
    if (elapsed >= seconds * 1_000) return poured;
    const due = Math.min(Math.floor((elapsed / 1_000) * perSecond) - poured, monitorIds.length);
    const ids = Array.from({ length: due }, (_, index) => monitorIds[(poured + index) % monitorIds.length]);
    await client.query(RECORD, [ids]);
    poured += due;
    await wait(EVERY_MS);
  }
}
