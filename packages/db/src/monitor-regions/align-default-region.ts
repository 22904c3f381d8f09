import { sql } from 'drizzle-orm';
import { arrayOf } from '../database/arrays.ts';
import type { Database } from '../database/open.ts';
import { replanSpans } from '../schedule-spans/replan-spans.ts';

/**
 * Moves the monitors without a list of regions to the default region, where that setting was changed since they were written.
 * Their schedules there are then applied by the reconciler, and those of the former region removed.
 * @returns how many monitors were moved
 */
export async function alignDefaultRegion(db: Database, defaultRegion: string): Promise<number> {
  return db.transaction(async (tx) => {
    const { rows } = await tx.execute<{ id: string; interval_seconds: number }>(sql`
      select m.id, m.interval_seconds from monitors m
      where m.regions = '{}' and not exists (
        select from monitor_regions r where r.monitor_id = m.id having bool_and(r.region = ${defaultRegion}))
      order by m.id for no key update`);
    if (rows.length === 0) return 0;
    const ids = rows.map(({ id }) => id);
    const moved = await tx.execute(sql`
      delete from monitor_regions where monitor_id = any(${arrayOf('uuid', ids)}) and region <> ${defaultRegion}`);
    await tx.execute(sql`
      insert into monitor_regions (monitor_id, region)
      select unnest(${arrayOf('uuid', ids)}), ${defaultRegion}
      on conflict do nothing`);
    const planned = rows.map((row) => ({
      monitorId: row.id,
      region: defaultRegion,
      intervalSeconds: row.interval_seconds,
    }));
    await replanSpans(tx, ids, planned);
    return moved.rowCount ?? 0;
  });
}
