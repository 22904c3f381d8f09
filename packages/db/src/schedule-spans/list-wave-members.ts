import type { Wave } from '@tocsin/core/schedule/wave';
import { sql } from 'drizzle-orm';
import type { Database } from '../database/open.ts';
import { prepared } from '../database/preparing-client.ts';

/** A monitor that a wave checks. */
export interface WaveMember {
  readonly monitorId: string;
  readonly revision: number;
}

/**
 * Whom a wave of a region checks now (ADR 11).
 * @param unrecordedSlot leaves out those of which this slot is recorded, epoch milliseconds: of a job that runs again;
 * undefined leaves out nobody
 */
export async function listWaveMembers(
  db: Database,
  region: string,
  { intervalSeconds, phaseMs }: Wave,
  unrecordedSlot?: number,
): Promise<WaveMember[]> {
  const unrecorded =
    unrecordedSlot === undefined
      ? sql``
      : sql`and not exists (
          select from monitor_regions r
          where r.monitor_id = s.monitor_id and r.region = s.region and r.recent_slots @> array[${unrecordedSlot}::bigint])`;
  const { rows } = await db.execute<{ id: string; revision: number }>(sql`${prepared}
    select m.id, m.revision from schedule_spans s join monitors m on m.id = s.monitor_id
    where s.region = ${region} and s.interval_seconds = ${intervalSeconds} and s.phase_ms = ${phaseMs}
      and s.ends_at is null ${unrecorded}`);
  return rows.map(({ id, revision }) => ({ monitorId: id, revision }));
}
