import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { waveId } from '@tocsin/core/schedule/slots';
import { listWaves } from '@tocsin/db/monitor-regions/schedules';
import { createSystem, type System } from '@tocsin/lab/system';
import { until } from '@tocsin/embedded/testing/until';
import { Redis } from 'ioredis';

/** `FLEET_MONITORS=20000 npm test -- fleet` prints how long a large installation takes. */
const MONITORS = Number(process.env['FLEET_MONITORS'] ?? 200);
const CLIENTS = 16;
const INTERVAL_SECONDS = 60;
const MIN_SECONDS_USED = 45;
const SCHEDULERS = 'tocsin:{checks.default}:repeat';

let system: System;
let redis: Redis;

beforeAll(async () => {
  system = await createSystem({ queue: 'redis', receiverCa: '-----BEGIN CERTIFICATE-----' });
  await system.service('api').start();
  redis = new Redis(system.queueUrl);
});
afterAll(async () => {
  redis.disconnect();
  await system.close();
});

/** Every wave in Redis: where in its interval its next job is, in milliseconds. */
async function phases(): Promise<Map<string, number>> {
  const flat = await redis.zrange(SCHEDULERS, '0', '-1', 'WITHSCORES');
  const found = new Map<string, number>();
  for (let index = 0; index + 1 < flat.length; index += 2) {
    found.set(flat[index] ?? '', Number(flat[index + 1]) % (INTERVAL_SECONDS * 1_000));
  }
  return found;
}

/** Every wave that Postgres wants, with its phase. */
async function wantedPhases(): Promise<Map<string, number>> {
  const waves = (await listWaves(system.context.db)).get('default') ?? [];
  return new Map(waves.map((wave) => [waveId(wave), wave.phaseMs]));
}

async function createAll(): Promise<void> {
  let next = 0;
  const client = async (): Promise<void> => {
    while (next < MONITORS) {
      next += 1;
      await system.createMonitor({ name: `Monitor ${next}`, url: `http://127.0.0.1:9/${next}` });
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}

/** @returns how long that took, in milliseconds; it is only printed */
async function untilScheduled(): Promise<number> {
  const startedAt = Date.now();
  const wanted = await wantedPhases();
  await until('every wave scheduled', async () => (await redis.zcard(SCHEDULERS)) === wanted.size);
  await until('every monitor noted as scheduled', async () => {
    const { rows } = await system.context.db.execute<{ count: number }>(
      'select count(*)::int as count from monitor_regions where scheduled_revision is null',
    );
    return rows[0]?.count === 0;
  });
  return Date.now() - startedAt;
}

test('many monitors are scheduled when they are created, and again with the same phases after Redis is flushed', async () => {
  const startedAt = Date.now();
  await createAll();
  const createdMs = Date.now() - startedAt;
  const appliedMs = await untilScheduled();
  const before = await phases();
  expect(before).toEqual(await wantedPhases());
  const { rows: monitors } = await system.context.db.execute<{ phase_ms: number }>(
    'select phase_ms from schedule_spans where ends_at is null',
  );
  expect(monitors).toHaveLength(MONITORS);

  const perSecond = Array.from({ length: INTERVAL_SECONDS }, () => 0);
  for (const { phase_ms: phase } of monitors) {
    const second = Math.floor(phase / 1_000);
    perSecond[second] = (perSecond[second] ?? 0) + 1;
  }
  // 200 random phases use about 58 of the 60 seconds, with a standard deviation of 1.4.
  expect(perSecond.filter((count) => count > 0).length).toBeGreaterThanOrEqual(MIN_SECONDS_USED);
  // No second has a burst. Random phases stay under this limit: it is twelve standard deviations above the mean.
  const mean = MONITORS / INTERVAL_SECONDS;
  expect(Math.max(...perSecond)).toBeLessThan(mean + 12 * Math.sqrt(mean));

  // As after any check: monitors that are still PENDING would be checked at once.
  await system.context.db.execute("update monitors set status = 'UP'");
  await redis.flushdb();
  // After this repair, no request is still adding the first check of a monitor that it created.
  await untilScheduled();
  await redis.flushdb();
  const mendedMs = await untilScheduled();
  expect(await phases()).toEqual(before);
  // No burst: nothing but planned checks is in the queue.
  const jobs = await redis.keys('tocsin:{checks.default}:first-*');
  expect(jobs).toEqual([]);
  process.stdout.write(
    `${MONITORS} monitors: created in ${createdMs} ms (${Math.round(MONITORS / (createdMs / 1_000))}/s), ` +
      `scheduled ${appliedMs} ms later; scheduled again ${mendedMs} ms after a flush\n`,
  );
});
