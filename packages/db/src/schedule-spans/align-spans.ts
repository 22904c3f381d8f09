import { PHASES_APART_MS } from '@tocsin/core/schedule/phase';
import { sql } from 'drizzle-orm';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import { arrayOf } from '../database/arrays.ts';
import { replanSpans } from './replan-spans.ts';

const MONITORS_AT_ONCE = 1_000;

/**
 * Mends the running spans that are not what the monitors are checked by: those of monitors older than the table, or written
 * by a process of a former version, whose phases lay on no grid. A monitor that is being written is left to the next time.
 * @returns how many monitors had such spans
 */
export async function alignSpans(db: NodePgDatabase): Promise<number> {
  let aligned = 0;
  for (;;) {
    const found = await alignSome(db);
    aligned += found;
    if (found < MONITORS_AT_ONCE) return aligned;
  }
}

async function alignSome(db: NodePgDatabase): Promise<number> {
  return db.transaction(async (tx) => {
    const { rows: monitors } = await tx.execute<{ id: string }>(sql`
      select m.id from monitors m
      where exists (
          select from monitor_regions r where r.monitor_id = m.id and not exists (
            select from schedule_spans s where s.monitor_id = m.id and s.region = r.region
              and s.ends_at is null and s.interval_seconds = m.interval_seconds
              and s.phase_ms % ${PHASES_APART_MS} = 1))
        or exists (
          select from schedule_spans s where s.monitor_id = m.id and s.ends_at is null and not exists (
            select from monitor_regions r where r.monitor_id = m.id and r.region = s.region))
      order by m.id limit ${MONITORS_AT_ONCE} for no key update of m skip locked`);
    if (monitors.length === 0) return 0;
    const ids = monitors.map(({ id }) => id);
    const { rows } = await tx.execute<{ monitor_id: string; region: string; interval_seconds: number }>(sql`
      select r.monitor_id, r.region, m.interval_seconds
      from monitor_regions r join monitors m on m.id = r.monitor_id
      where r.monitor_id = any(${arrayOf('uuid', ids)})`);
    await replanSpans(
      tx,
      ids,
      rows.map((row) => ({
        monitorId: row.monitor_id,
        region: row.region,
        intervalSeconds: row.interval_seconds,
      })),
    );
    return ids.length;
  });
}
