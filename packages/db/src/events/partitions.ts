import { readRollupState } from '../check-rollups/roll-up.ts';
import type { Database, Queryable } from '../database/open.ts';
import { dropPartitions, ensurePartitions, listPartitions, utcDay } from '../database/partitions.ts';
import { readClock } from '../database/sql.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const DAYS_AHEAD = 7;

/**
 * Makes the missing partitions from yesterday to a week ahead.
 * @param now Postgres' clock, epoch milliseconds, which stamps the events; default: read it
 */
export async function ensureEventPartitions(db: Queryable, now?: number): Promise<void> {
  const yesterday = (now ?? (await readClock(db))) - DAY_MS;
  const wanted = Array.from({ length: DAYS_AHEAD + 2 }, (_, index) => {
    const [from, to] = [utcDay(yesterday + index * DAY_MS), utcDay(yesterday + (index + 1) * DAY_MS)];
    return { name: `events_${from.replaceAll('-', '_')}`, from, to };
  });
  await ensurePartitions(db, 'events', wanted);
}

/** A day partition of the events; times are epoch milliseconds. */
interface EventDay {
  readonly name: string;
  readonly startsAt: number;
  readonly endsAt: number;
}

/** The days whose events are kept, oldest first. */
async function listEventDays(db: Queryable): Promise<EventDay[]> {
  const names = [...(await listPartitions(db, 'events'))].filter((name) =>
    /^events_\d{4}_\d{2}_\d{2}$/.test(name),
  );
  return names.toSorted().map((name) => {
    const startsAt = Date.parse(name.slice('events_'.length).replaceAll('_', '-'));
    return { name, startsAt, endsAt: startsAt + DAY_MS };
  });
}

/**
 * Drops the day partitions whose events are all older than the retention and rolled up. Rolling up the first hour of the next day needs
 * the last minutes of a day too.
 * @param now Postgres' clock, epoch milliseconds: it stamped the events
 * @returns the names of the dropped partitions
 */
export async function dropExpiredEventPartitions(
  db: Database,
  retentionDays: number,
  now: number,
): Promise<string[]> {
  const today = Math.floor(now / DAY_MS) * DAY_MS;
  const oldest = today - retentionDays * DAY_MS;
  const rolledUntil = (await readRollupState(db))?.rolledUntil.getTime() ?? -Infinity;
  const expired = (await listEventDays(db))
    .filter(({ startsAt, endsAt }) => startsAt < oldest && endsAt + HOUR_MS <= rolledUntil)
    .map(({ name }) => name);
  await dropPartitions(db, expired);
  return expired;
}
