import { until } from '@tocsin/e2e/until';
import type { Lab } from './lab.ts';

const WITHIN_MS = 90_000;

/** Waits until every monitor is scheduled, as far as Postgres knows, and has had a check. */
export async function untilChecked(lab: Lab): Promise<void> {
  await until('every monitor scheduled and checked', () => isEmpty(lab, OPEN), WITHIN_MS);
}

const OPEN = `select from monitor_regions r join monitors m on m.id = r.monitor_id
  where r.scheduled_revision is distinct from m.revision or r.last_result_at is null limit 1`;

async function isEmpty(lab: Lab, query: string): Promise<boolean> {
  const { rowCount } = await lab.database.pool.query(query);
  return rowCount === 0;
}
