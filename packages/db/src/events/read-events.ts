import { LIMITS } from '@tocsin/contracts/limits';
import { AppError } from '@tocsin/contracts/errors';
import {
  type Event,
  type EventResponse,
  eventResponseSchema,
  type RecentChecks,
} from '@tocsin/contracts/monitors/events';
import { CHECK_STATUSES } from '@tocsin/contracts/vocabulary';
import { and, eq, sql, type SQL } from 'drizzle-orm';
import { z } from 'zod';
import { requireFound } from '../database/errors.ts';
import type { Database, DbContext } from '../database/open.ts';
import { arrayOf, buildOnce, epochMs, query, queryOne, toIso } from '../database/sql.ts';
import { UNREADABLE } from '../monitors/monitor-codec.ts';
import { findMonitorRow } from '../monitors/monitor-row.ts';
import { boundsOf, type TimestampRange, timestampRanges } from '../monitors/timestamps.ts';
import { type MonitorRow, monitors } from '../monitors/table.ts';
import { endOfDay, type StoredEvents, storedEvents } from './stored-events.ts';
import { events } from './table.ts';

const DAY_MS = 86_400_000;
/** Days to look in first. A monitor with an interval of five minutes has 288 checks a day in each region. */
const NEAREST_DAYS = [1, 8];
/** An event may be this much older than its monitor, because PostgreSQL's clock was set back. */
const CLOCK_STEP_MS = 3_600_000;
const keptResponse = eventResponseSchema.omit({ statusCode: true });

/** SQL expression for each field of an event's wire record, over the rows of the event and its monitor. */
const WIRE_FIELDS: Readonly<Record<keyof Event, string>> = {
  id: 'events.id',
  monitorId: 'events.monitor_id',
  monitorName: 'monitors.name',
  status: 'events.status',
  latency: 'events.latency_ms',
  statusCode: 'events.status_code',
  errorReason: 'events.error_reason',
  errorDetail: 'events.error_detail',
  inconclusive: 'events.inconclusive',
  hasResponse: 'events.sealed_response is not null',
  region: 'events.region',
  timestamp: `to_char(events.timestamp at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  source: 'events.source',
  url: 'events.url',
  timings: `json_build_object('dns', events.dns_ms, 'tcp', events.tcp_ms, 'tls', events.tls_ms,
    'firstByte', events.first_byte_ms, 'download', events.download_ms)`,
  runbookUrl: 'monitors.runbook_url',
};
const wireColumns = sql.raw(
  Object.entries(WIRE_FIELDS)
    .map(([field, value]) => `${value} as "${field}"`)
    .join(', '),
);

/**
 * Selects events in API format as one JSON array, because reading them as rows with this many columns takes several times as long.
 * @param from provides `events` and `monitors`
 */
export function wireEvents(from: SQL): SQL<Event[]> {
  return sql<Event[]>`(select coalesce(json_agg(w), '[]') from (select ${wireColumns} from ${from}) w)`;
}

interface Page {
  readonly monitor: MonitorRow;
  readonly found: Event[];
}

const pageQueries = { asc: pageQuery('asc'), desc: pageQuery('desc') };

function pageQuery(order: 'asc' | 'desc') {
  const page = storedEvents({
    of: sql`monitor_id = ${sql.placeholder('monitorId')}`,
    after: sql.placeholder('after'),
    upTo: { time: sql.placeholder('upTo'), endOfDay: sql.placeholder('endOfDay') },
    limit: { order, count: sql.placeholder('count') },
  });
  const isMonitor = and(
    eq(monitors.id, sql.placeholder('monitorId')),
    eq(monitors.accountId, sql.placeholder('accountId')),
  );
  // The query is not prepared, because it would lock `event_blocks` before `events` and could deadlock with the replacement of a partition.
  return buildOnce<Page[]>((db) =>
    db
      .select({ monitor: monitors, found: wireEvents(sql`${page}`) })
      .from(monitors)
      .where(isMonitor),
  );
}

/**
 * Reads a monitor with its first `count` events after `since` (epoch milliseconds), or with the latest ones, newest first. It looks in the
 * nearest days first, because PostgreSQL plans a statement for each partition in its range, which takes longer than reading a page. A page is
 * used only if it is full or has all events, so the result always comes from one statement.
 * @throws AppError not_found
 */
export async function readPage(
  db: Database,
  of: { readonly accountId: string; readonly monitorId: string },
  count: number,
  since: number | null,
): Promise<Page> {
  const now = Date.now();
  const select = pageQueries[since === null ? 'desc' : 'asc'];
  const read = async (after: number, upTo: number): Promise<Page> => {
    const range = { after: toIso(after), upTo: toIso(upTo), endOfDay: toIso(endOfDay(upTo)) };
    return requireFound(await select(db, { ...of, ...range, count }), 'monitor');
  };
  for (const days of NEAREST_DAYS) {
    const span = days * DAY_MS;
    if (since !== null && since + span > now) break;
    const page = await (since === null ? read(now - span, Infinity) : read(since, since + span));
    const hasAll = since === null && page.monitor.createdAt.getTime() - CLOCK_STEP_MS > now - span;
    if (page.found.length === count || hasAll) return page;
  }
  return read(since ?? -Infinity, Infinity);
}

/** Returns bounds for the event with a timestamp in whole milliseconds. */
function at(timestamp: Date): Pick<StoredEvents, 'after' | 'upTo'> {
  return { after: timestamp.getTime() - 1, upTo: timestamp.getTime() };
}

/** Finds the event with this timestamp, or null if it is no longer kept. @throws AppError not_found without such a monitor */
export async function findEvent(
  db: Database,
  accountId: string,
  monitorId: string,
  timestamp: Date,
): Promise<Event | null> {
  const event = storedEvents({ of: sql`monitor_id = ${monitorId}`, ...at(timestamp) });
  const isThis = and(eq(monitors.id, monitorId), eq(monitors.accountId, accountId));
  const rows = await db
    .select({ found: wireEvents(sql`${event}`) })
    .from(monitors)
    .where(isThis);
  return requireFound(rows, 'monitor').found[0] ?? null;
}

/** Returns the kept response. The body is `(unreadable)`, without headers, if no key decrypts it. @throws AppError not_found */
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
    throw new AppError('not_found', 'No response was kept for a check at this time.');
  let text: string;
  try {
    text = secrets.decrypt(sealed);
  } catch {
    return { statusCode, headers: {}, body: UNREADABLE };
  }
  return { statusCode, ...keptResponse.parse(JSON.parse(text)) };
}

/** Lists the first `limit` events after `since` (exclusive), or the latest `limit`, in chronological order. @throws AppError not_found */
export async function listEvents(
  db: Database,
  accountId: string,
  monitorId: string,
  { limit, since }: { readonly limit: number; readonly since?: Date | undefined },
): Promise<Event[]> {
  const { found } = await readPage(db, { accountId, monitorId }, limit, since?.getTime() ?? null);
  return since === undefined ? found.toReversed() : found;
}

/** Lists the first events in these ranges of the account's monitors, by timestamp, then monitor. Other monitors have none. */
export async function tailEvents(
  db: Database,
  accountId: string,
  ranges: readonly TimestampRange[],
  limit: number,
): Promise<Event[]> {
  if (ranges.length === 0) return [];
  const tail = storedEvents({
    of: sql`monitor_id = r.monitor_id`,
    ...boundsOf(ranges),
    within: { after: sql`r.after`, upTo: sql`r.up_to` },
    limit: { order: 'asc', count: limit },
  });
  const from = sql`${timestampRanges(ranges)}
    join monitors on monitors.id = r.monitor_id and monitors.account_id = ${accountId}
    cross join lateral ${tail}
    order by events.timestamp, events.monitor_id limit ${limit}`;
  return selectWireEvents(db, from);
}

/** Reads the wire records of a `from` clause with `events` and `monitors`, in its order. */
export async function selectWireEvents(db: Database, from: SQL): Promise<Event[]> {
  const { found } = await queryOne(db, wireRow)`select ${wireEvents(from)} as found`;
  return found;
}

const wireRow = z.object({ found: z.custom<Event[]>() });

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
 * Lists the latest checks of those of these monitors that belong to the account, oldest first, in the order of the ids. Excludes triggered
 * checks of another URL.
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
    // The bound includes one more day, in case this clock is slow.
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
