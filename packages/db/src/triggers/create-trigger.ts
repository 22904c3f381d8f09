import { asc, eq, sql } from 'drizzle-orm';
import { v7 as uuidv7 } from 'uuid';
import type { Database } from '../database/open.ts';
import { monitorRegions } from '../monitor-regions/table.ts';
import type { MonitorRow } from '../monitors/table.ts';
import { triggers } from './table.ts';

/**
 * Asks for one check of a monitor, in its first region, that must start within `startWithinMs` (design §4 "Trigger").
 * @param url replaces the monitor's URL for this check; null: the monitor's own
 */
export async function createTrigger(
  db: Database,
  monitor: MonitorRow,
  url: string | null,
  startWithinMs: number,
): Promise<{ id: string; region: string }> {
  const region = monitor.regions[0] ?? (await onlyRegion(db, monitor.id));
  const id = uuidv7();
  await db.insert(triggers).values({
    id,
    monitorId: monitor.id,
    region,
    url,
    notAfter: sql`now() + make_interval(secs => ${startWithinMs / 1_000}::float8)`,
  });
  return { id, region };
}

/** A monitor without a list of regions has one row: the default region's. */
async function onlyRegion(db: Database, monitorId: string): Promise<string> {
  const [row] = await db
    .select({ region: monitorRegions.region })
    .from(monitorRegions)
    .where(eq(monitorRegions.monitorId, monitorId))
    .orderBy(asc(monitorRegions.region))
    .limit(1);
  return row?.region ?? 'default';
}
