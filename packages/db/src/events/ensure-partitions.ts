import type { PgDatabase, PgQueryResultHKT } from 'drizzle-orm/pg-core';
import { ensurePartitions, utcDay } from '../database/partitions.ts';
import { readClock } from '../database/read-clock.ts';

const DAY_MS = 86_400_000;
const DAYS_AHEAD = 7;

/**
 * Makes the partitions of yesterday to a week ahead where they are missing (design §5).
 * @param now Postgres' clock, epoch milliseconds, which stamps the events; read where it is not given
 */
export async function ensureEventPartitions(db: PgDatabase<PgQueryResultHKT>, now?: number): Promise<void> {
  const yesterday = (now ?? (await readClock(db))) - DAY_MS;
  const wanted = Array.from({ length: DAYS_AHEAD + 2 }, (_, index) => yesterday + index * DAY_MS).map(
    (time) => ({
      name: `events_${utcDay(time).replaceAll('-', '_')}`,
      from: utcDay(time),
      to: utcDay(time + DAY_MS),
    }),
  );
  await ensurePartitions(db, 'events', wanted);
}
