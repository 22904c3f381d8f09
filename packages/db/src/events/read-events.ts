import { LIMITS } from '@tocsin/contracts/limits';
import type { Event, RecentChecks } from '@tocsin/contracts/monitors/events';
import type { CheckStatus } from '@tocsin/contracts/vocabulary';
import { and, asc, desc, eq, gt, sql } from 'drizzle-orm';
import type { Database } from '../database/open.ts';
import { arrayOf } from '../database/sql.ts';
import { findMonitorRow } from '../monitors/monitor-row.ts';
import { isInRange, type StampRange, stampRanges } from '../monitors/stamps.ts';
import { monitors } from '../monitors/table.ts';
import type { MonitorRow } from '../monitors/table.ts';
import { events } from './table.ts';
import type { EventRow } from './table.ts';

/** The wire record of an event; name and runbook URL are the monitor's of now. */
function toEvent(row: EventRow, monitor: Pick<MonitorRow, 'name' | 'runbookUrl'>): Event {
  return {
    id: row.id,
    monitorId: row.monitorId,
    monitorName: monitor.name,
    status: row.status,
    latency: row.latencyMs,
    statusCode: row.statusCode,
    errorReason: row.errorReason,
    errorDetail: row.errorDetail,
    region: row.region,
    timestamp: row.timestamp.toISOString(),
    source: row.source,
    url: row.url,
    timings: {
      dns: row.dnsMs,
      tcp: row.tcpMs,
      tls: row.tlsMs,
      firstByte: row.firstByteMs,
      download: row.downloadMs,
    },
    runbookUrl: monitor.runbookUrl,
  };
}

/** The event with this stamp, or null where it is gone with its monitor. */
export async function findEvent(
  db: Database,
  accountId: string,
  monitorId: string,
  timestamp: Date,
): Promise<Event | null> {
  const monitor = await findMonitorRow(db, accountId, monitorId);
  const [row] = await db
    .select()
    .from(events)
    .where(and(eq(events.monitorId, monitorId), eq(events.timestamp, timestamp)));
  return row ? toEvent(row, monitor) : null;
}

export interface EventRange {
  readonly limit: number;
  /** Exclusive. Absent: the latest events. */
  readonly since?: Date | undefined;
}

/**
 * A monitor's events in chronological order: the first `limit` after `since`, or the latest `limit` without it (design §3
 * "Events and tailing").
 * @throws AppError not_found where the account has no such monitor
 */
export async function listEvents(
  db: Database,
  accountId: string,
  monitorId: string,
  range: EventRange,
): Promise<Event[]> {
  const monitor = await findMonitorRow(db, accountId, monitorId);
  if (range.since === undefined) return (await recentEvents(db, monitor, range.limit)).toReversed();
  const rows = await db
    .select()
    .from(events)
    .where(and(eq(events.monitorId, monitorId), gt(events.timestamp, range.since)))
    .orderBy(asc(events.timestamp))
    .limit(range.limit);
  return rows.map((row) => toEvent(row, monitor));
}

/** The latest events of a monitor, newest first. */
export async function recentEvents(
  db: Database,
  monitor: { id: string; name: string; runbookUrl: string | null },
  limit: number,
): Promise<Event[]> {
  const rows = await db
    .select()
    .from(events)
    .where(eq(events.monitorId, monitor.id))
    .orderBy(desc(events.timestamp))
    .limit(limit);
  return rows.map((row) => toEvent(row, monitor));
}

/**
 * The first events in these ranges of the account's monitors, by timestamp, then monitor. A monitor that is not the account's, or gone,
 * has none.
 */
export async function tailEvents(
  db: Database,
  accountId: string,
  ranges: readonly StampRange[],
  limit: number,
): Promise<Event[]> {
  if (ranges.length === 0) return [];
  const tail = db
    .select()
    .from(events)
    .where(and(sql`${events.monitorId} = r.monitor_id`, isInRange(ranges, sql`${events.timestamp}`)))
    .orderBy(asc(events.timestamp))
    .limit(limit)
    .as('tail');
  const rows = await db
    .select({ event: tail._.selectedFields, name: monitors.name, runbookUrl: monitors.runbookUrl })
    .from(stampRanges(ranges))
    .innerJoin(monitors, and(sql`${monitors.id} = r.monitor_id`, eq(monitors.accountId, accountId)))
    .crossJoinLateral(tail)
    .orderBy(asc(tail.timestamp), asc(tail.monitorId))
    .limit(limit);
  return rows.map(({ event, ...monitor }) => toEvent(event, monitor));
}

const DAY_MS = 86_400_000;

type RecentCheckRow = Record<string, unknown> & {
  monitor_id: string;
  /** Epoch milliseconds; this and what follows is null for a monitor without a check. */
  timestamp: number | null;
  status: CheckStatus;
  latency_ms: number;
  region: string;
};

/**
 * The latest checks of these monitors, oldest first, in the order of the ids; what triggers checked at another URL is left out. A
 * monitor that is not the account's, or gone, is left out.
 */
export async function listRecentChecks(
  db: Database,
  accountId: string,
  monitorIds: readonly string[],
): Promise<RecentChecks[]> {
  const { days, checks } = LIMITS.recentChecks;
  const now = Date.now();
  // Values, not expressions: so the planner leaves out the partitions of other days. A day more, should our clock be behind.
  const [from, to] = [now - days * DAY_MS, now + DAY_MS].map((time) => new Date(time).toISOString());
  const { rows } = await db.execute<RecentCheckRow>(sql`
    select m.id as monitor_id, (extract(epoch from c.timestamp) * 1000)::float8 as timestamp,
      c.status, c.latency_ms, c.region
    from unnest(${arrayOf('uuid', monitorIds)}) with ordinality as u (id, position)
    join monitors m on m.id = u.id and m.account_id = ${accountId}
    left join lateral (
      select e.timestamp, e.status, e.latency_ms, e.region from events e
      where e.monitor_id = m.id and e.timestamp > ${from}::timestamptz and e.timestamp < ${to}::timestamptz
        and e.url is null
      order by e.timestamp desc limit ${checks}
    ) c on true
    order by u.position, c.timestamp`);
  const byMonitor = new Map<string, RecentChecks>();
  for (const row of rows) {
    const recent = byMonitor.get(row.monitor_id) ?? { monitorId: row.monitor_id, checks: [] };
    byMonitor.set(row.monitor_id, recent);
    if (row.timestamp !== null) recent.checks.push(toCheck(row, row.timestamp));
  }
  return [...byMonitor.values()];
}

function toCheck(row: RecentCheckRow, timestamp: number): RecentChecks['checks'][number] {
  return {
    timestamp: new Date(timestamp).toISOString(),
    status: row.status,
    latency: row.latency_ms,
    region: row.region,
  };
}
