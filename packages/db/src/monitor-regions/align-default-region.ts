import { sql } from 'drizzle-orm';
import type { Database } from '../database/open.ts';

/**
 * Moves the monitors without a list of regions to the default region, where that setting was changed since they were written.
 * Their schedules there are then applied by the reconciler, and those of the former region removed.
 * @returns how many monitors were moved
 */
export async function alignDefaultRegion(db: Database, defaultRegion: string): Promise<number> {
  return db.transaction(async (tx) => {
    const moved = await tx.execute(sql`
      delete from monitor_regions r using monitors m
      where m.id = r.monitor_id and m.regions = '{}' and r.region <> ${defaultRegion}`);
    await tx.execute(sql`
      insert into monitor_regions (monitor_id, region)
      select m.id, ${defaultRegion} from monitors m
      where m.regions = '{}' and not exists (select from monitor_regions r where r.monitor_id = m.id)
      on conflict do nothing`);
    return moved.rowCount ?? 0;
  });
}
