import type { Event } from '@tocsin/contracts/event';
import { and, eq } from 'drizzle-orm';
import type { Database } from '../database/open.ts';
import { findMonitorRow } from '../monitors/find-monitor-row.ts';
import { events } from './table.ts';
import { toEvent } from './to-event.ts';

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
