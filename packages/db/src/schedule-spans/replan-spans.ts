import { phaseMs } from '@tocsin/core/schedule/phase';
import { sql } from 'drizzle-orm';
import { arrayOf, columnOf } from '../database/arrays.ts';
import { clockNow } from '../database/columns.ts';
import type { Transaction } from '../database/open.ts';

/** That a region is to check a monitor every so many seconds. */
export interface PlannedSchedule {
  readonly monitorId: string;
  readonly region: string;
  readonly intervalSeconds: number;
}

/**
 * Makes the running spans of the monitors those that are planned: what differs ends, what is missing starts at the same
 * millisecond of Postgres' clock. The caller holds the monitors' row locks.
 */
export async function replanSpans(
  tx: Transaction,
  monitorIds: readonly string[],
  planned: readonly PlannedSchedule[],
): Promise<void> {
  const at = await nextBoundary(tx, monitorIds);
  const plan = sql`unnest(
    ${columnOf(planned, 'uuid', (schedule) => schedule.monitorId)},
    ${columnOf(planned, 'text', (schedule) => schedule.region)},
    ${columnOf(planned, 'int', (schedule) => schedule.intervalSeconds)},
    ${columnOf(planned, 'int', (schedule) => phaseMs(schedule.monitorId, schedule.intervalSeconds * 1_000))}
  ) as p (monitor_id, region, interval_seconds, phase_ms)`;
  await tx.execute(sql`
    update schedule_spans s set ends_at = ${at}
    where s.monitor_id = any(${arrayOf('uuid', monitorIds)}) and s.ends_at is null and not exists (
      select from ${plan}
      where p.monitor_id = s.monitor_id and p.region = s.region and p.interval_seconds = s.interval_seconds
        and p.phase_ms = s.phase_ms)`);
  await tx.execute(sql`
    insert into schedule_spans (monitor_id, region, starts_at, interval_seconds, phase_ms)
    select p.monitor_id, p.region, ${at}, p.interval_seconds, p.phase_ms from ${plan}
    where not exists (
      select from schedule_spans s
      where s.monitor_id = p.monitor_id and s.region = p.region and s.ends_at is null)`);
}

/** Now, but after every start of these monitors' spans and no earlier than any end: a clock may step back. */
async function nextBoundary(tx: Transaction, monitorIds: readonly string[]): Promise<string> {
  const { rows } = await tx.execute<{ at: number }>(sql`
    select (extract(epoch from
      greatest(${clockNow}, max(starts_at) + interval '1 millisecond', max(ends_at))) * 1000)::float8 as at
    from schedule_spans where monitor_id = any(${arrayOf('uuid', monitorIds)})`);
  const [row] = rows;
  if (!row) throw new Error('the clock was not read');
  return new Date(row.at).toISOString();
}
