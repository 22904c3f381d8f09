import { AppError } from '@tocsin/contracts/errors';
import type { Event } from '@tocsin/contracts/monitors/events';
import { sql, type SQL } from 'drizzle-orm';
import { z } from 'zod';
import type { Database } from '../database/open.ts';
import { epochMs, queryOne, timestamptz } from '../database/sql.ts';
import { wireEvents } from './read-events.ts';
import { storedEvents } from './stored-events.ts';

/** The first statement of a request looks this far ahead, and each later one further, because more partitions take longer to plan. */
const FIRST_RANGE_MS = 86_400_000;
const RANGE_GROWTH = 8;

/** A position in the events of an account, ordered by timestamp, then monitor. */
interface Position {
  /** Epoch milliseconds. */
  readonly timestamp: number;
  /** Last monitor whose event with this timestamp has been read, or null for all of them. */
  readonly monitorId: string | null;
}

export interface TailOptions {
  /** Cursor of an earlier call. Without one, returns no events and the current cursor. */
  readonly since?: string | undefined;
  readonly limit: number;
  /** Called before each further statement, which is skipped if this returns false. */
  readonly isWanted?: () => boolean;
}

export interface AccountTail {
  readonly events: Event[];
  readonly cursor: string;
}

/**
 * Reads the first events of an account after a cursor. Following the cursors neither misses nor repeats an event, unless PostgreSQL's clock
 * is set back. @throws AppError validation_failed for an invalid cursor
 */
export async function tailAccount(
  db: Database,
  accountId: string,
  { since, limit, isWanted }: TailOptions,
): Promise<AccountTail> {
  const start = since === undefined ? null : parseCursor(since);
  const { now, settled } = await readHorizon(db);
  // A cursor in the future means that PostgreSQL's clock was set back, so events get earlier timestamps again. Repeating some is better
  // than missing any.
  if (start === null || start.timestamp > now)
    return { events: [], cursor: formatCursor({ timestamp: settled, monitorId: null }) };
  const found: Event[] = [];
  let position = start;
  // Usually one statement fills the page or reads everything. Each one looks further ahead, so a page needs few of them.
  for (let reads = 0; position.timestamp < settled && found.length < limit; reads += 1) {
    if (isWanted?.() === false) break;
    const upTo = Math.min(position.timestamp + FIRST_RANGE_MS * RANGE_GROWTH ** reads, settled);
    const slice = await readSlice(db, accountId, position, {
      upTo,
      limit: limit - found.length,
      margin: 2 ** reads,
    });
    found.push(...slice.found);
    position = { timestamp: slice.completeTo ?? upTo, monitorId: null };
  }
  const last = found.at(-1);
  if (last !== undefined && found.length >= limit)
    position = { timestamp: Date.parse(last.timestamp), monitorId: last.monitorId };
  return { events: found, cursor: formatCursor(position) };
}

const horizonRow = z.object({ now: z.number(), oldest: z.number().nullable(), hidden: z.number() });

/**
 * Reads PostgreSQL's clock, and the time up to which every event is committed, in epoch milliseconds.
 *
 * A transaction that records events first locks rows of `monitors`. This implies a table lock, which is taken before the clock is read for
 * its timestamps, and is held until its commit is visible. If a later statement does not see an event, there are two cases. Either the event
 * gets its timestamp after this statement began, or its transaction is found here and began before that timestamp.
 */
async function readHorizon(db: Database): Promise<{ now: number; settled: number }> {
  const { now, oldest, hidden } = await queryOne(db, horizonRow)`
    select floor(${epochMs(sql`statement_timestamp()`)}) as now,
      floor(${epochMs(sql`min(a.xact_start)`)}) as oldest,
      (count(*) filter (where a.query = '<insufficient privilege>' or a.state = 'disabled'))::int as hidden
    from pg_locks l join pg_stat_activity a on a.pid = l.pid
    where l.relation = 'monitors'::regclass and l.mode = 'RowShareLock'
      and l.database = (select oid from pg_database where datname = current_database())`;
  if (hidden > 0) {
    const reason =
      'pg_stat_activity hides when other sessions began their transactions. Grant pg_read_all_stats to the role of DATABASE_URL, and leave track_activities on.';
    throw new AppError(
      'unavailable',
      'The server cannot tell which events are complete. See its log for the reason.',
      {
        headers: { 'Retry-After': '5' },
        cause: new Error(reason),
      },
    );
  }
  return { now, settled: Math.min(now, oldest ?? now) - 1 };
}

interface SliceOptions {
  /** Inclusive bound in epoch milliseconds. */
  readonly upTo: number;
  readonly limit: number;
  /** Factor by which more events of each monitor are read than its interval suggests. */
  readonly margin: number;
}

const sliceRow = z.object({ found: z.custom<Event[]>(), completeTo: z.number().nullable() });

/**
 * Reads the first events after a position. The number of events read per monitor depends on its check interval, so that the query reads
 * little more than one page.
 * @returns `completeTo`: the time up to which `found` may be complete. Later events are omitted, because at least one monitor may have
 * unread events. Null if no monitor reached its share; a full page can still be cut off by `limit`
 */
async function readSlice(
  db: Database,
  accountId: string,
  { timestamp, monitorId }: Position,
  { upTo, limit, margin }: SliceOptions,
): Promise<z.output<typeof sliceRow>> {
  // In the position's own millisecond, only monitors after its monitor are left. Timestamps have whole milliseconds.
  const earliest = monitorId === null ? timestamp : timestamp - 1;
  const tail = storedEvents({
    of: sql`monitor_id = monitors.id`,
    after: earliest,
    upTo,
    ...(monitorId !== null && { within: { after: afterOf(monitorId, timestamp) } }),
    limit: { order: 'asc', count: sql`monitors.count` },
  });
  return queryOne(db, sliceRow)`
    with shares as (
      select id, name, runbook_url, 1 + ceil(${limit * margin} * frequency / sum(frequency) over ())::int as count
      from (
        select id, name, runbook_url, greatest(cardinality(regions), 1)::float8 / interval_seconds as frequency
        from monitors where account_id = ${accountId} and last_timestamp > ${timestamptz(earliest)}) m),
    read as (
      select events.*, monitors.name, monitors.runbook_url, min(read_to) over () as complete_to
      from shares monitors cross join lateral (
        select *, case when count(*) over () = monitors.count then max("timestamp") over () end as read_to
        from ${tail}) events),
    page as (
      select * from read where complete_to is null or "timestamp" <= complete_to
      order by "timestamp", monitor_id limit ${limit})
    select (select ${epochMs(sql`min(complete_to)`)} from page) as complete_to,
      ${wireEvents(sql`page events cross join lateral (select events.name, events.runbook_url) monitors
        order by "timestamp", monitor_id`)} as found`;
}

/** Returns the lower bound for each monitor. Only monitors after the position's monitor have events left in its millisecond. */
function afterOf(monitorId: string, timestamp: number): SQL {
  return sql`case when monitors.id > ${monitorId}::uuid
    then ${timestamptz(timestamp - 1)} else ${timestamptz(timestamp)} end`;
}

function formatCursor({ timestamp, monitorId }: Position): string {
  return Buffer.from(`${timestamp} ${monitorId ?? ''}`).toString('base64url');
}

function parseCursor(text: string): Position {
  const match = /^(\d{1,15}) ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})?$/.exec(
    Buffer.from(text, 'base64url').toString(),
  );
  if (match !== null) return { timestamp: Number(match[1]), monitorId: match[2] ?? null };
  const message = 'must be the `cursor` of an earlier response; leave it out to begin now';
  throw new AppError('validation_failed', 'The cursor in `since` is not valid.', {
    errors: [{ path: 'since', message }],
  });
}
