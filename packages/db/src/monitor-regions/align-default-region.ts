import { sql, type SQL } from 'drizzle-orm';
import { arrayOf } from '../database/arrays.ts';
import type { Database } from '../database/open.ts';
import { replanSpans } from '../schedule-spans/replan-spans.ts';

/** Monitors whose rows one transaction holds: recording waits for none of them for long. */
const BATCH = 500;
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

/**
 * Moves the monitors without a list of regions to the default region, where that setting was changed since they were written.
 * Their schedules there are then applied by the reconciler, and those of the former region removed. Batch by batch, each
 * under its monitors' locks; what is done stays done where a later batch fails.
 * @returns how many monitors were moved
 */
export async function alignDefaultRegion(db: Database, defaultRegion: string): Promise<number> {
  let moved = 0;
  let after = BEFORE_ALL;
  for (;;) {
    const batch = await alignBatch(db, defaultRegion, after);
    moved += batch.moved;
    if (batch.last === null) return moved;
    after = batch.last;
  }
}

/** @returns the id up to which all are aligned; null: all are */
async function alignBatch(
  db: Database,
  defaultRegion: string,
  after: string,
): Promise<{ moved: number; last: string | null }> {
  return db.transaction(async (tx) => {
    const { rows: found } = await tx.execute<{ id: string }>(sql`
      select m.id from monitors m
      where m.id > ${after} and m.regions = '{}' and not (
        exists (select from monitor_regions r where r.monitor_id = m.id and r.region = ${defaultRegion})
        and not exists (select from monitor_regions r where r.monitor_id = m.id and r.region <> ${defaultRegion}))
      order by m.id limit ${BATCH}`);
    if (found.length === 0) return { moved: 0, last: null };
    // One that was given regions of its own meanwhile is left alone.
    const { rows: locked } = await tx.execute<{ id: string; interval_seconds: number }>(sql`
      select id, interval_seconds from monitors
      where id = any(${idsOf(found)}) and regions = '{}' order by id for no key update`);
    const { rowCount } = await tx.execute(sql`
      delete from monitor_regions where monitor_id = any(${idsOf(locked)}) and region <> ${defaultRegion}`);
    await tx.execute(sql`
      insert into monitor_regions (monitor_id, region) select id, ${defaultRegion} from unnest(${idsOf(locked)}) as u (id)
      on conflict do nothing`);
    const planned = locked.map((row) => ({
      monitorId: row.id,
      region: defaultRegion,
      intervalSeconds: row.interval_seconds,
    }));
    await replanSpans(
      tx,
      planned.map(({ monitorId }) => monitorId),
      planned,
    );
    return { moved: rowCount ?? 0, last: found.at(-1)?.id ?? null };
  });
}

function idsOf(rows: readonly { id: string }[]): SQL {
  return arrayOf(
    'uuid',
    rows.map((row) => row.id),
  );
}
