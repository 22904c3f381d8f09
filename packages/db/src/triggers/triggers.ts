import { and, eq, gt, isNull, sql } from 'drizzle-orm';
import type { Database } from '../database/open.ts';
import { firstOf, queryColumn } from '../database/sql.ts';
import type { MonitorRow } from '../monitors/table.ts';
import { triggers } from './table.ts';

/** Requests one check of a monitor in its first region, to start within `startWithinMs`. @param url replaces the monitor's URL */
export async function createTrigger(
  db: Database,
  monitor: MonitorRow,
  url: string | null,
  startWithinMs: number,
): Promise<{ id: string; region: string }> {
  const region = monitor.regions[0] ?? (await onlyRegion(db, monitor.id));
  const notAfter = sql`now() + make_interval(secs => ${startWithinMs / 1_000}::float8)`;
  const values = { monitorId: monitor.id, region, url, notAfter };
  return firstOf(
    await db.insert(triggers).values(values).returning({ id: triggers.id, region: triggers.region }),
  );
}

/** Returns the region of a monitor without a list of regions, which has one row for the default region. */
async function onlyRegion(db: Database, monitorId: string): Promise<string> {
  const [region = 'default'] = await queryColumn(db)`
    select region from monitor_regions where monitor_id = ${monitorId} order by region limit 1`;
  return region;
}

/** Takes a trigger to run it, once and never after its limit. Null if it was taken, is too late, or does not exist. */
export async function takeTrigger(
  db: Database,
  id: string,
): Promise<{ monitorId: string; region: string; url: string | null } | null> {
  const [taken] = await db
    .update(triggers)
    .set({ startedAt: sql`now()` })
    .where(and(eq(triggers.id, id), isNull(triggers.startedAt), gt(triggers.notAfter, sql`now()`)))
    .returning({ monitorId: triggers.monitorId, region: triggers.region, url: triggers.url });
  return taken ?? null;
}

export async function hasTriggerStarted(db: Database, id: string): Promise<boolean> {
  const [row] = await db.select({ startedAt: triggers.startedAt }).from(triggers).where(eq(triggers.id, id));
  return row !== undefined && row.startedAt !== null;
}

/** Returns the timestamp of a trigger's event. Null until it is recorded, undefined if the trigger was deleted with its monitor. */
export async function findTriggerEvent(db: Database, id: string): Promise<Date | null | undefined> {
  const [row] = await db.select().from(triggers).where(eq(triggers.id, id));
  return row?.eventTimestamp;
}
