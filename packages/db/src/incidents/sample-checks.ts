import type { Event } from '@tocsin/contracts/monitors/events';
import { sql, type SQL } from 'drizzle-orm';
import { z } from 'zod';
import type { Database } from '../database/open.ts';
import { arrayOf, epochMs, query, timestamptz } from '../database/sql.ts';
import { selectWireEvents } from '../events/read-events.ts';
import { storedEvents } from '../events/stored-events.ts';

const DAY_MS = 86_400_000;
/** The incident's first failures may be this long before it. */
const BEFORE_MS = 14 * DAY_MS;
/** Numbers of checks to compare. They are the last ones before the incident, its first and last ones, and the first ones after it. */
const COMPARED = { before: 500, first: 5_000, last: 500, after: 100 } as const;
/** Maximum checks to return from the beginning and from the end, before the incident opened and after that. */
const RETURNED = { before: [10, 20], after: [60, 30] } as const;

/** Monitor and period of an incident, in epoch milliseconds. `endsAt` is now while the incident is open. */
export interface IncidentPeriod {
  readonly monitorId: string;
  readonly openedAt: number;
  readonly endsAt: number;
  readonly isResolved: boolean;
}

const sampled = z.object({ timestamp: z.number(), during: z.number() });

/**
 * Returns the checks that explain an incident, in chronological order. For each region, these are the last one that passed before, the
 * failures that opened the incident, every check whose result differs from the previous one, and the first one that passed again. Each range
 * is read by the primary key of events or blocks, however many there are. `complete` is false if changes were omitted.
 */
export async function sampleChecks(
  db: Database,
  period: IncidentPeriod,
): Promise<{ checks: Event[]; complete: boolean }> {
  const { monitorId, openedAt, endsAt } = period;
  const [opened, ends] = [timestamptz(openedAt), timestamptz(endsAt)];
  const rows = await query(db, sampled)`
    with compared as (
      ${compared(period)}
    ), marked as (
      select c.*,
        lag(result) over in_order as previous,
        lead(status) over in_order as next_status,
        max(timestamp) filter (where status = 'UP' and timestamp <= ${opened})
          over (partition by region) as last_pass,
        min(timestamp) filter (where status = 'UP' and timestamp > ${ends}) over (partition by region) as next_pass,
        (count(*) filter (where timestamp > ${opened} and timestamp <= ${ends}) over ())::int as during
      from compared c
      window in_order as (partition by region order by timestamp)
    )
    select ${epochMs(sql`timestamp`)} as timestamp, during from marked
    where case when timestamp <= ${opened}
      then timestamp > coalesce(last_pass, '-infinity') and (not inconclusive or result is distinct from previous)
        or timestamp = last_pass and next_status = 'DOWN'
      else result is distinct from previous and (previous is not null or status = 'DOWN')
        and (timestamp <= ${ends} or timestamp = next_pass) end
    order by timestamp`;
  const isBefore = ({ timestamp }: { timestamp: number }): boolean => timestamp <= openedAt;
  const after = rows.filter((row) => !isBefore(row));
  const chosen = [
    ...bothEnds(rows.filter(isBefore), ...RETURNED.before),
    ...bothEnds(after, ...RETURNED.after),
  ].map(({ timestamp }) => timestamp);
  const hasGap = rows.some(({ during }) => during === COMPARED.first + COMPARED.last);
  const complete = chosen.length === rows.length && !hasGap;
  const [first, last] = [chosen.at(0), chosen.at(-1)];
  if (first === undefined || last === undefined) return { checks: [], complete };
  const stored = storedEvents({
    of: sql`monitor_id = ${monitorId}`,
    after: first - 1,
    upTo: last,
    where: sql`"timestamp" = any(${arrayOf('timestamptz', chosen)})`,
  });
  const from = sql`${stored} join monitors on monitors.id = events.monitor_id order by events.timestamp`;
  return { checks: await selectWireEvents(db, from), complete };
}

/** Selects the checks to compare. Triggered checks of another URL are excluded, because they do not affect the status. */
function compared({ monitorId, openedAt, endsAt, isResolved }: IncidentPeriod): SQL {
  const range = (after: number, upTo: number, order: 'asc' | 'desc', count: number): SQL => sql`
    (select timestamp, region, status, inconclusive, concat_ws(' ', status, inconclusive, error_reason, status_code) as result
    from ${storedEvents({
      of: sql`monitor_id = ${monitorId}`,
      after,
      upTo,
      where: sql`url is null`,
      limit: { order, count },
    })})`;
  const ranges = [
    range(openedAt - BEFORE_MS, openedAt, 'desc', COMPARED.before),
    range(openedAt, endsAt, 'asc', COMPARED.first),
    range(openedAt, endsAt, 'desc', COMPARED.last),
    ...(isResolved ? [range(endsAt, endsAt + DAY_MS, 'asc', COMPARED.after)] : []),
  ];
  // `union` instead of `union all`, because the first and the last checks may be the same.
  return sql.join(ranges, sql` union `);
}

/** Returns the first and the last items of a list, or all of a short one. */
function bothEnds<Item>(items: readonly Item[], first: number, last: number): Item[] {
  return items.length <= first + last ? [...items] : [...items.slice(0, first), ...items.slice(-last)];
}
