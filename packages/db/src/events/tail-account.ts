import { AppError } from '@tocsin/contracts/errors';
import type { Event } from '@tocsin/contracts/monitors/events';
import { sql, type SQL } from 'drizzle-orm';
import { z } from 'zod';
import type { Database } from '../database/open.ts';
import { epochMs, queryOne, timestamptz } from '../database/sql.ts';
import { selectWireEvents } from './read-events.ts';
import { storedEvents } from './stored-events.ts';

/** How much of a backlog the first statement of a request reads. Each further one reads twice as much, up to a limit. */
const FIRST_SLICE_MS = 4_000;
const MAX_SLICE_MS = 64_000;

/** A place in the events of an account, which are ordered by timestamp, then monitor. */
interface Position {
  /** Epoch milliseconds. */
  readonly timestamp: number;
  /** The last monitor whose event with this timestamp has been read; null: all of them. */
  readonly monitorId: string | null;
}

export interface AccountTail {
  readonly events: Event[];
  /** Where the next request continues. */
  readonly cursor: string;
}

/**
 * The first events of all monitors of an account after a cursor, by timestamp, then monitor. Following the cursors neither misses nor
 * repeats an event, unless Postgres' clock is set back.
 * @param since the cursor of an earlier call; undefined: none, which returns no events and the current cursor
 * @throws AppError validation_failed for an invalid cursor
 */
export async function tailAccount(
  db: Database,
  accountId: string,
  { since, limit }: { readonly since?: string | undefined; readonly limit: number },
): Promise<AccountTail> {
  const start = since === undefined ? null : parseCursor(since);
  const { now, settled } = await readHorizon(db);
  // A cursor of the future: Postgres' clock was set back, and events get earlier timestamps again. Better to repeat some than to miss any.
  if (start === null || start.timestamp > now)
    return { events: [], cursor: formatCursor({ timestamp: settled, monitorId: null }) };
  const found: Event[] = [];
  let position = start;
  let slice = FIRST_SLICE_MS;
  while (position.timestamp < settled && found.length < limit) {
    const upTo = Math.min(position.timestamp + slice, settled);
    const events = await readSlice(db, accountId, position, upTo, limit - found.length);
    found.push(...events);
    // A gap, such as events that are no longer kept, is skipped at once.
    const end = events.length > 0 || upTo === settled ? upTo : await endOfGap(db, accountId, upTo, settled);
    position = { timestamp: end, monitorId: null };
    slice = Math.min(slice * 2, MAX_SLICE_MS);
  }
  const last = found.at(-1);
  if (last !== undefined && found.length >= limit)
    position = { timestamp: Date.parse(last.timestamp), monitorId: last.monitorId };
  return { events: found, cursor: formatCursor(position) };
}

const horizonRow = z.object({ now: z.number(), oldest: z.number().nullable(), hidden: z.number() });

/**
 * Postgres' clock, and the instant up to which every event is committed, both in epoch milliseconds.
 *
 * A transaction that records events locks rows of `monitors` first. The lock on the table that this implies is taken before the clock is
 * read for its timestamps, and is held until its commit is visible. So an event that a later statement does not see either gets its
 * timestamp after this statement began, or its transaction is found here and began before that timestamp.
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

/** The first events after a position, up to a timestamp. Only monitors that have any are read, each by the primary key of its events. */
async function readSlice(
  db: Database,
  accountId: string,
  { timestamp, monitorId }: Position,
  upTo: number,
  limit: number,
): Promise<Event[]> {
  // The position's own millisecond is left only for monitors that come after its monitor. Timestamps have whole milliseconds.
  const earliest = monitorId === null ? timestamp : timestamp - 1;
  const tail = storedEvents({
    of: sql`monitor_id = monitors.id`,
    after: earliest,
    upTo,
    ...(monitorId !== null && { within: { after: afterOf(monitorId, timestamp) } }),
    limit: { order: 'asc', count: limit },
  });
  return selectWireEvents(
    db,
    sql`monitors cross join lateral ${tail}
      where monitors.account_id = ${accountId} and monitors.last_timestamp > ${timestamptz(earliest)}
      order by events.timestamp, events.monitor_id limit ${limit}`,
  );
}

/** Monitors after the position's have events in its millisecond, the others only later ones. */
function afterOf(monitorId: string, timestamp: number): SQL {
  return sql`case when monitors.id > ${monitorId}::uuid
    then ${timestamptz(timestamp - 1)} else ${timestamptz(timestamp)} end`;
}

const gapRow = z.object({ next: z.number().nullable() });

/** The last millisecond without an event, at most `settled`. One index probe for each monitor that has later events. */
async function endOfGap(db: Database, accountId: string, from: number, settled: number): Promise<number> {
  const first = storedEvents({
    of: sql`monitor_id = m.id`,
    after: from,
    upTo: settled,
    limit: { order: 'asc', count: 1 },
  });
  const { next } = await queryOne(db, gapRow)`
    select floor(${epochMs(sql`min(e.timestamp)`)}) as next
    from monitors m cross join lateral (select "timestamp" from ${first}) e
    where m.account_id = ${accountId} and m.last_timestamp > ${timestamptz(from)}`;
  return next === null ? settled : next - 1;
}

function formatCursor({ timestamp, monitorId }: Position): string {
  return Buffer.from(`${timestamp} ${monitorId ?? ''}`).toString('base64url');
}

/** @throws AppError validation_failed */
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
