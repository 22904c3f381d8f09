import type { Event } from '@tocsin/contracts/event';
import { and, asc, eq, sql } from 'drizzle-orm';
import type { Database } from '../database/open.ts';
import { isInRange, stampRanges, type StampRange } from '../monitors/stamp-range.ts';
import { monitors } from '../monitors/table.ts';
import { events } from './table.ts';
import { toEvent } from './to-event.ts';

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
