import type { Event } from '@tocsin/contracts/event';
import { and, asc, desc, eq, gt } from 'drizzle-orm';
import type { Database } from '../database/open.ts';
import { findMonitorRow } from '../monitors/find-monitor-row.ts';
import { events } from './table.ts';
import { toEvent } from './to-event.ts';

export interface EventRange {
  readonly limit: number;
  /** Exclusive. Absent: the latest events. */
  readonly since?: Date | undefined;
}

/**
 * A monitor's events in chronological order: the first `limit` after `since`, or the latest `limit` without it (design §3
 * "Events and tailing").
 * @throws AppError not_found where the account has no such monitor
 */
export async function listEvents(
  db: Database,
  accountId: string,
  monitorId: string,
  range: EventRange,
): Promise<Event[]> {
  const monitor = await findMonitorRow(db, accountId, monitorId);
  if (range.since === undefined) return (await recentEvents(db, monitor, range.limit)).toReversed();
  const rows = await db
    .select()
    .from(events)
    .where(and(eq(events.monitorId, monitorId), gt(events.timestamp, range.since)))
    .orderBy(asc(events.timestamp))
    .limit(range.limit);
  return rows.map((row) => toEvent(row, monitor));
}

/** The latest events of a monitor, newest first. */
export async function recentEvents(
  db: Database,
  monitor: { id: string; name: string; runbookUrl: string | null },
  limit: number,
): Promise<Event[]> {
  const rows = await db
    .select()
    .from(events)
    .where(eq(events.monitorId, monitor.id))
    .orderBy(desc(events.timestamp))
    .limit(limit);
  return rows.map((row) => toEvent(row, monitor));
}
