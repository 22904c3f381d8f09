import { readRollupState } from '../check-rollups/rollup-state.ts';
import type { Database } from '../database/open.ts';
import { dropPartitions } from '../database/partitions.ts';
import { listEventDays } from './list-event-days.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/**
 * Drops the day partitions whose every event is older than the retention (design §5), once they are rolled up: the first hour
 * of the next day needs their last minutes too.
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
