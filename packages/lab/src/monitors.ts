import { setTimeout as wait } from 'node:timers/promises';
import { slotOffsetMs, waveId } from '@tocsin/core/schedule/slots';
import { listWaves } from '@tocsin/db/monitor-regions/schedules';
import { until } from '@tocsin/embedded/testing/until';
import { KEY_PREFIX, storedName } from '@tocsin/queue/queue-store';
import type { Redis } from 'ioredis';
import type { System } from './system.ts';

const REGION = 'default';
const SCHEDULERS = `${KEY_PREFIX}:${storedName('check', REGION)}:repeat`;
const CLIENTS = 16;
const WITHIN_MS = 120_000;

export interface ManyMonitors {
  readonly count: number;
  readonly intervalSeconds: number;
  readonly url: (number: number) => string;
  /** Defaults to the default region. */
  readonly region?: string;
}

/**
 * Returns less than half the interval, as in nearly all real monitors. With a longer timeout, every check would need the overlap guard.
 */
export function timeoutSeconds(intervalSeconds: number): number {
  return Math.max(1, Math.min(10, Math.ceil(intervalSeconds / 2) - 1));
}

/** Creates monitors through the API, which starts a first check of each. @param perSecond the maximum rate @returns their ids, in order */
export async function createMonitors(
  system: System,
  { count, intervalSeconds, url }: ManyMonitors,
  perSecond: number,
): Promise<string[]> {
  const startedAt = performance.now();
  const ids: string[] = [];
  let next = 0;
  const client = async (): Promise<void> => {
    for (let number = next++; number < count; number = next++) {
      const early = startedAt + (number * 1_000) / perSecond - performance.now();
      if (early > 0) await wait(early);
      const { id } = await system.createMonitor({
        name: `Monitor ${number}`,
        url: url(number),
        interval: intervalSeconds,
        timeout: timeoutSeconds(intervalSeconds),
      });
      ids[number] = id;
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return ids;
}

/**
 * Inserts monitors into Postgres as if they had been checked and were UP. The reconciler schedules them.
 * @returns their ids, in order
 */
export async function insertMonitors(
  { database, context }: Pick<System, 'database' | 'context'>,
  { count, intervalSeconds, url, region = REGION }: ManyMonitors,
): Promise<string[]> {
  const urls = Array.from({ length: count }, (_, number) => url(number));
  const regions = region === REGION ? [] : [region];
  const client = await database.pool.connect();
  try {
    // One transaction writes everything, so that a running api does not see incomplete monitors.
    await client.query('begin');
    const { rows } = await client.query<{ id: string }>(
      `insert into monitors (id, account_id, name, url, type, interval_seconds, timeout_seconds, method, failure_threshold,
         regions, status)
       select uuidv7(), $1, 'Monitor ' || (number - 1), url, 'HTTP', $3, $4, 'GET', 1, $5, 'UP'
       from unnest($2::text[]) with ordinality as target (url, number) order by number
       returning id`,
      [context.accountId, urls, intervalSeconds, timeoutSeconds(intervalSeconds), regions],
    );
    const ids = rows.map((row) => row.id);
    const offsets = ids.map((id) => slotOffsetMs(id, intervalSeconds * 1_000));
    await client.query(
      `with assigned as (
         insert into monitor_regions (monitor_id, region) select unnest($1::uuid[]), $4)
       insert into schedule_spans (monitor_id, region, interval_seconds, phase_ms)
       select id, $4, $3, phase_ms from unnest($1::uuid[], $2::int[]) as planned (id, phase_ms)`,
      [ids, offsets, intervalSeconds, region],
    );
    await client.query('commit');
    await client.query('analyze monitors, monitor_regions, schedule_spans');
    return ids;
  } finally {
    client.release();
  }
}

/** Waits until every monitor is scheduled, according to Postgres. */
export async function untilApplied(system: System): Promise<void> {
  await untilNone(
    system,
    'every monitor to be scheduled',
    'select from monitor_regions where scheduled_revision is null limit 1',
  );
}

/**
 * Waits until every monitor, or each of these, has been checked since a time.
 * @param since epoch milliseconds. Postgres and this process use the same clock
 */
export async function untilChecked(system: System, since = 0, ids?: readonly string[]): Promise<void> {
  await untilNone(
    system,
    'every monitor to be checked',
    `select from monitor_regions where ($2::uuid[] is null or monitor_id = any($2))
       and (last_result_at is null or last_result_at < to_timestamp($1::float8 / 1000)) limit 1`,
    [since, ids ?? null],
  );
}

/** Waits until every monitor is scheduled and every wave is in Redis. */
export async function untilScheduled(system: System, redis: Redis): Promise<void> {
  const waves = await listWaves(system.context.db, REGION);
  const wanted = (waves.get(REGION) ?? []).map(waveId);
  await untilApplied(system);
  const areStored = async (): Promise<boolean> => {
    if ((await redis.zcard(SCHEDULERS)) < wanted.length) return false;
    const stored = new Set(await redis.zrange(SCHEDULERS, '0', '-1'));
    return wanted.every((id) => stored.has(id));
  };
  await until('every wave to be in Redis', areStored, WITHIN_MS);
}

async function untilNone(system: System, what: string, query: string, values: unknown[] = []): Promise<void> {
  await until(what, async () => (await system.database.pool.query(query, values)).rowCount === 0, WITHIN_MS);
}
