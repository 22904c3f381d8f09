import type { PgDatabase, PgQueryResultHKT } from 'drizzle-orm/pg-core';
import { ensurePartitions, utcDay } from '../database/partitions.ts';

const DAY_MS = 86_400_000;
const DAYS_AHEAD = 7;

/** Makes the partitions of yesterday to a week ahead where they are missing (design §5). */
export async function ensureEventPartitions(db: PgDatabase<PgQueryResultHKT>): Promise<void> {
  const now = Date.now();
  const wanted = Array.from({ length: DAYS_AHEAD + 2 }, (_, index) => now + (index - 1) * DAY_MS).map(
    (time) => ({
      name: `events_${utcDay(time).replaceAll('-', '_')}`,
      from: utcDay(time),
      to: utcDay(time + DAY_MS),
    }),
  );
  await ensurePartitions(db, 'events', wanted);
}
