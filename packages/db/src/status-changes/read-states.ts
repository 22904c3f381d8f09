import { type MonitorStates, STATE_CELLS, type StatePeriod } from '@tocsin/contracts/monitors/stats';
import { MONITOR_STATUSES } from '@tocsin/contracts/vocabulary';
import { type SQL, sql } from 'drizzle-orm';
import { z } from 'zod';
import { type PeriodRequest, requirePeriod } from '../check-rollups/monitor-stats.ts';
import { type Database, type Transaction, readSnapshot } from '../database/open.ts';
import { epochMs, firstOf, query, queryOne, readClock, timestamptz } from '../database/sql.ts';
import { findMonitorRow } from '../monitors/monitor-row.ts';
import { measureMonitors } from '../reports/monitor-histories.ts';
import { silencesOf } from '../silences/silences.ts';

const DAY_MS = 86_400_000;

/** Bounds for reading a monitor's states, in epoch milliseconds. */
interface Bounds {
  readonly from: number;
  readonly to: number;
  /** PostgreSQL's clock. */
  readonly now: number;
  /** When the monitor was created. */
  readonly createdAt: number;
  /** Status changes are complete since then. Before it, only incidents are known. */
  readonly completeSince: number;
}

/** Reads the statuses of a monitor over time from one snapshot. @throws AppError not_found, validation_failed */
export async function getMonitorStates(
  db: Database,
  accountId: string,
  id: string,
  request: PeriodRequest,
): Promise<MonitorStates> {
  return readSnapshot(db, async (tx) => {
    const monitor = await findMonitorRow(tx, accountId, id);
    const now = await readClock(tx);
    const { from, to } = requirePeriod(request, now);
    const completeSince = now - request.retentionDays * DAY_MS;
    const bounds = { from, to, now, createdAt: monitor.createdAt.getTime(), completeSince };
    const rows = await readPeriods(tx, id, monitor.status, bounds);
    const { times } = firstOf(await measureMonitors(tx, [monitor], { from, to, now }));
    const { incidents } = await queryOne(tx, incidentCount)`
      select count(*)::int as incidents from incidents
      where monitor_id = ${id} and opened_at < ${timestamptz(to)}
        and coalesce(resolved_at, 'infinity') > ${timestamptz(from)}`;
    return {
      from: new Date(from).toISOString(),
      to: new Date(to).toISOString(),
      downSeconds: times.downtimeMs / 1_000,
      knownSeconds: times.observedMs / 1_000,
      incidents,
      periods: joinEqual(rows).map(toPeriod),
    };
  });
}

const incidentCount = z.object({ incidents: z.number() });

const periodRow = z.object({
  since: z.number(),
  until: z.number(),
  status: z.enum(MONITOR_STATUSES).nullable(),
  count: z.number(),
  downMs: z.number(),
  incidentId: z.string().nullable(),
  cause: z.string().nullable(),
  errorDetail: z.string().nullable(),
});
type PeriodRow = z.output<typeof periodRow>;

/**
 * Reads the statuses of a monitor. Each lasts until the next one. They come from status changes as long as these are kept. Before that,
 * incidents show when it was `DOWN`, and the rest is unknown, as are silences. Statuses that last less than a cell are grouped by cell, so
 * that a flapping monitor has a bounded number of rows. A group is `DOWN` if one of its statuses is `DOWN`, and otherwise has the status that
 * lasted longest.
 */
async function readPeriods(
  tx: Transaction,
  id: string,
  status: string,
  bounds: Bounds,
): Promise<PeriodRow[]> {
  const { from, to } = bounds;
  const seen = Math.min(to, Math.max(from, bounds.createdAt));
  const complete = Math.min(to, Math.max(seen, bounds.completeSince));
  const [start, first, known, end] = [from, seen, complete, to].map(timestamptz) as [SQL, SQL, SQL, SQL];
  const silent = silencesOf({
    monitorId: sql`${id}::uuid`,
    from: known,
    to: end,
    now: timestamptz(bounds.now),
  });
  const cell = sql`${(to - from) / STATE_CELLS} * interval '1 millisecond'`;
  return query(tx, periodRow)`
    with silent as materialized (select * from ${silent} s),
    states (since, status, position, silence) as (
      select ${start}, null, 0, 0 where ${start} < ${known}
      union all
      select greatest(opened_at, ${first}), 'DOWN', 2, 0 from incidents
      where monitor_id = ${id} and opened_at < ${known} and coalesce(resolved_at, 'infinity') > ${first}
      union all
      select resolved_at, null, 1, 0 from incidents
      where monitor_id = ${id} and resolved_at > ${first} and resolved_at < ${known}
      union all
      select ${known}, ${statusAt(id, known, status)}, 3, 0
      union all
      select timestamp, to_status, 3 + row_number() over (order by timestamp, id), 0 from status_changes
      where monitor_id = ${id} and timestamp > ${known} and timestamp < ${end}
      union all
      -- The result that ends a silence may change the status, which is stamped a millisecond later.
      select greatest(starts_at, ${known}), null, 1e9, 1 from silent
      union all
      select ends_at, ${statusAt(id, sql`ends_at + interval '1 millisecond'`, status)}, 2e9, -1 from silent
      where ends_at < ${end}),
    timed as (
      select since, lead(since, 1, ${end}) over in_order as until,
        case when sum(silence) over in_order = 0 then status end as status
      from states window in_order as (order by since, position)),
    grouped as (
      select min(since) as since, max(until) as until, count(*)::int as count,
        (array_agg(status order by status = 'DOWN' desc nulls last, until - since desc))[1] as status,
        coalesce(sum(extract(epoch from until - since)) filter (where status = 'DOWN') * 1000, 0)::float8 as down_ms
      from timed where until > since
      group by date_bin(${cell}, since, ${start}), until - since >= ${cell})
    select ${epochMs(sql`since`)} as since, ${epochMs(sql`until`)} as until, status, count, down_ms,
      i.id as incident_id, i.cause, i.error_detail
    from grouped left join lateral (
      select id, cause, error_detail from incidents
      where monitor_id = ${id} and opened_at < grouped.until and coalesce(resolved_at, 'infinity') > grouped.since
      order by opened_at desc limit 1) i on status = 'DOWN'
    order by since`;
}

/** Selects the status of a monitor after the status changes at a time. @param now its current status */
function statusAt(id: string, time: SQL, now: string): SQL {
  return sql`coalesce((select from_status from status_changes
    where monitor_id = ${id} and timestamp > ${time} order by timestamp limit 1), ${now})`;
}

/** Joins periods with the same status and incident, such as an outage that began before the oldest kept status change. */
function joinEqual(rows: readonly PeriodRow[]): PeriodRow[] {
  const joined: PeriodRow[] = [];
  for (const row of rows) {
    const last = joined.at(-1);
    const isSame = last?.count === 1 && row.count === 1 && last.status === row.status;
    if (last !== undefined && isSame && last.incidentId === row.incidentId)
      joined[joined.length - 1] = { ...last, until: row.until, downMs: last.downMs + row.downMs };
    else joined.push(row);
  }
  return joined;
}

function toPeriod({ since, until, downMs, ...row }: PeriodRow): StatePeriod {
  const [from, to] = [since, until].map((time) => new Date(Math.round(time)).toISOString());
  return { ...row, from: from ?? '', to: to ?? '', downSeconds: Math.round(downMs) / 1_000 };
}
