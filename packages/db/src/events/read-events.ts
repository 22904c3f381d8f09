import { LIMITS } from '@tocsin/contracts/limits';
import { AppError } from '@tocsin/contracts/errors';
import {
  type Event,
  type EventResponse,
  eventResponseSchema,
  type RecentChecks,
} from '@tocsin/contracts/monitors/events';
import { CHECK_STATUSES } from '@tocsin/contracts/vocabulary';
import { and, asc, eq, getTableColumns, sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Database, DbContext } from '../database/open.ts';
import { arrayOf, epochMs, query, toWire } from '../database/sql.ts';
import { UNREADABLE } from '../monitors/monitor-codec.ts';
import { findMonitorRow } from '../monitors/monitor-row.ts';
import { boundsOf, type TimestampRange, timestampRanges } from '../monitors/timestamps.ts';
import { type MonitorRow, monitors } from '../monitors/table.ts';
import { type StoredEvents, storedEvents } from './stored-events.ts';
import { type EventRow, events } from './table.ts';

const DAY_MS = 86_400_000;
/** A monitor at five minutes has 288 checks a day in each region. */
const NEAREST_DAYS = [1, 8];
const keptResponse = eventResponseSchema.omit({ statusCode: true });

const { sealedResponse, ...others } = getTableColumns(events);
/** The columns of an event that every reader gets: of its response, only whether there is one. */
export const eventColumns = {
  ...others,
  hasResponse: sql<boolean>`${sealedResponse} is not null`.as('has_response'),
};
type ReadEvent = Omit<EventRow, 'sealedResponse'> & { readonly hasResponse: boolean };

/** The wire record of an event, with the monitor's current name and runbook URL. */
export function toEvent(row: ReadEvent, monitor: Pick<MonitorRow, 'name' | 'runbookUrl'>): Event {
  const { latencyMs, slot: _, dnsMs: dns, tcpMs: tcp, tlsMs: tls, firstByteMs, downloadMs, ...same } = row;
  return toWire({
    ...same,
    monitorName: monitor.name,
    latency: latencyMs,
    timings: { dns, tcp, tls, firstByte: firstByteMs, download: downloadMs },
    runbookUrl: monitor.runbookUrl,
  });
}

/** The events of a monitor with the columns for `toEvent`. */
function selectEvents(db: Database, monitorId: string, range: Omit<StoredEvents, 'of'>) {
  return db.select(eventColumns).from(storedEvents({ of: sql`monitor_id = ${monitorId}`, ...range }));
}

/**
 * The first `count` events of a monitor after `since` (epoch milliseconds), or the latest, newest first. It looks in the nearest days first:
 * Postgres plans a statement for each partition of its range, which takes longer than to read a page. Only a full page counts, so that the
 * result is that of one statement.
 */
async function selectPage(db: Database, monitorId: string, count: number, since: number | null) {
  const now = Date.now();
  const limit = { order: since === null ? 'desc' : 'asc', count } as const;
  for (const days of NEAREST_DAYS) {
    const range =
      since === null ? { after: now - days * DAY_MS } : { after: since, upTo: since + days * DAY_MS };
    if (range.upTo !== undefined && range.upTo > now) break;
    const rows = await selectEvents(db, monitorId, { ...range, limit });
    if (rows.length === count) return rows;
  }
  return selectEvents(db, monitorId, { ...(since !== null && { after: since }), limit });
}

/** The event with a timestamp. Timestamps have whole milliseconds. */
function at(timestamp: Date): Pick<StoredEvents, 'after' | 'upTo'> {
  return { after: timestamp.getTime() - 1, upTo: timestamp.getTime() };
}

/** The event with this timestamp, or null if it was deleted with its monitor. */
export async function findEvent(
  db: Database,
  accountId: string,
  monitorId: string,
  timestamp: Date,
): Promise<Event | null> {
  const monitor = await findMonitorRow(db, accountId, monitorId);
  const [row] = await selectEvents(db, monitorId, at(timestamp));
  return row ? toEvent(row, monitor) : null;
}

/**
 * The response that the event with this timestamp has kept. One that no key decrypts has the body `(unreadable)`, and no headers.
 * @throws AppError not_found if there is none
 */
export async function getEventResponse(
  { db, secrets }: DbContext,
  accountId: string,
  monitorId: string,
  timestamp: Date,
): Promise<EventResponse> {
  await findMonitorRow(db, accountId, monitorId);
  const [event] = await db
    .select({ statusCode: events.statusCode, sealed: events.sealedResponse })
    .from(storedEvents({ of: sql`monitor_id = ${monitorId}`, ...at(timestamp) }));
  const { statusCode = null, sealed = null } = event ?? {};
  if (statusCode === null || sealed === null)
    throw new AppError('not_found', 'No response was kept of a check at this time.');
  let text: string;
  try {
    text = secrets.decrypt(sealed);
  } catch {
    return { statusCode, headers: {}, body: UNREADABLE };
  }
  return { statusCode, ...keptResponse.parse(JSON.parse(text)) };
}

/**
 * A monitor's events in chronological order: the first `limit` after `since` (exclusive), or the latest `limit` without it.
 * @throws AppError not_found
 */
export async function listEvents(
  db: Database,
  accountId: string,
  monitorId: string,
  { limit, since }: { readonly limit: number; readonly since?: Date | undefined },
): Promise<Event[]> {
  const monitor = await findMonitorRow(db, accountId, monitorId);
  if (since === undefined) return (await recentEvents(db, monitor, limit)).toReversed();
  const rows = await selectPage(db, monitorId, limit, since.getTime());
  return rows.map((row) => toEvent(row, monitor));
}

/** The latest events of a monitor, newest first. */
export async function recentEvents(
  db: Database,
  monitor: Pick<MonitorRow, 'id' | 'name' | 'runbookUrl'>,
  limit: number,
): Promise<Event[]> {
  const rows = await selectPage(db, monitor.id, limit, null);
  return rows.map((row) => toEvent(row, monitor));
}

/**
 * The first events in these ranges of the account's monitors, by timestamp, then monitor. A monitor of another account, or one that was
 * deleted, has none.
 */
export async function tailEvents(
  db: Database,
  accountId: string,
  ranges: readonly TimestampRange[],
  limit: number,
): Promise<Event[]> {
  if (ranges.length === 0) return [];
  const tail = db
    .select(eventColumns)
    .from(
      storedEvents({
        of: sql`monitor_id = r.monitor_id`,
        ...boundsOf(ranges),
        within: { after: sql`r.after`, upTo: sql`r.up_to` },
        limit: { order: 'asc', count: limit },
      }),
    )
    .as('tail');
  const rows = await db
    .select({ event: tail._.selectedFields, name: monitors.name, runbookUrl: monitors.runbookUrl })
    .from(timestampRanges(ranges))
    .innerJoin(monitors, and(sql`${monitors.id} = r.monitor_id`, eq(monitors.accountId, accountId)))
    .crossJoinLateral(tail)
    .orderBy(asc(tail.timestamp), asc(tail.monitorId))
    .limit(limit);
  return rows.map(({ event, ...monitor }) => toEvent(event, monitor));
}

const recentChecks = z.object({
  monitorId: z.string(),
  checks: z.array(
    z.object({
      timestamp: z.number().transform((time) => new Date(time).toISOString()),
      status: z.enum(CHECK_STATUSES),
      inconclusive: z.boolean(),
      latency: z.number(),
      region: z.string(),
    }),
  ),
});

/**
 * The latest checks of these monitors, oldest first, in the order of the ids, without triggered checks of another URL. Monitors that do
 * not exist, or belong to another account, are left out.
 */
export async function listRecentChecks(
  db: Database,
  accountId: string,
  monitorIds: readonly string[],
): Promise<RecentChecks[]> {
  const { days, checks } = LIMITS.recentChecks;
  const now = Date.now();
  const latest = storedEvents({
    of: sql`monitor_id = m.id`,
    after: now - days * DAY_MS,
    // One more day, in case this clock is slow.
    upTo: now + DAY_MS,
    where: sql`url is null`,
    limit: { order: 'desc', count: checks },
  });
  return query(db, recentChecks)`
    select m.id as monitor_id, array(
      select jsonb_build_object(
        'timestamp', ${epochMs(sql`timestamp`)}, 'status', status, 'inconclusive', inconclusive, 'latency', latency_ms, 'region', region)
      from ${latest} order by timestamp) as checks
    from unnest(${arrayOf('uuid', monitorIds)}) with ordinality as u (id, position)
    join monitors m on m.id = u.id and m.account_id = ${accountId}
    order by u.position`;
}
