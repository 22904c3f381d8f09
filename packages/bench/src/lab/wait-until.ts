import { waveId } from '@tocsin/core/schedule/slots';
import { listWaves } from '@tocsin/db/monitor-regions/schedules';
import { until } from '@tocsin/embedded/testing/until';
import { KEY_PREFIX, storedName } from '@tocsin/queue/queue-store';
import type { Lab } from './lab.ts';

const WITHIN_MS = 120_000;
const REGION = 'default';
const SCHEDULERS = `${KEY_PREFIX}:${storedName('check', REGION)}:repeat`;

/** Waits until every monitor is scheduled, as far as Postgres knows. */
export async function untilApplied(lab: Lab): Promise<void> {
  const open = `select from monitor_regions r join monitors m on m.id = r.monitor_id
    where r.scheduled_revision is distinct from m.revision limit 1`;
  await until('every monitor scheduled', () => isEmpty(lab, open), WITHIN_MS);
}

/** Waits until every monitor has had a check since then, by Postgres' clock and ours, which are one. */
export async function untilChecked(lab: Lab, since = 0): Promise<void> {
  const open = `select from monitor_regions
    where last_result_at is null or last_result_at < to_timestamp(${since / 1_000}) limit 1`;
  await until('every monitor checked', () => isEmpty(lab, open), WITHIN_MS);
}

/** Waits until no monitor is unapplied, and every wave that Postgres wants is in Redis. */
export async function untilScheduled(lab: Lab): Promise<void> {
  const { redis } = lab;
  if (redis === null) throw new Error('the queue is not on Redis');
  const waves = await listWaves(lab.context.db, REGION);
  const wanted = (waves.get(REGION) ?? []).map(waveId);
  await untilApplied(lab);
  const allStored = async (): Promise<boolean> => {
    if ((await redis.zcard(SCHEDULERS)) < wanted.length) return false;
    const stored = new Set(await redis.zrange(SCHEDULERS, '0', '-1'));
    return wanted.every((id) => stored.has(id));
  };
  await until('every wave scheduled', allStored, WITHIN_MS);
}

async function isEmpty(lab: Lab, query: string): Promise<boolean> {
  const { rowCount } = await lab.database.pool.query(query);
  return rowCount === 0;
}
