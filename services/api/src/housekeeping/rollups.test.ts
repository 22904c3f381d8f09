import { beforeEach, describe, expect, test } from '@jest/globals';
import { readRollupState, writeClockDoubt } from '@tocsin/db/check-rollups/roll-up';
import { readClock } from '@tocsin/db/database/sql';
import { until } from '@tocsin/embedded/testing/until';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { createMetrics } from '@tocsin/runtime/metrics';
import { useTestApi } from '../testing/test-api.ts';
import { DatabaseClock, type DatabaseClockOptions } from './database-clock.ts';
import { registerRollupMetrics, startRollUps } from './rollups.ts';

const HOUR_MS = 3_600_000;
const logger = createSilentLogger();

const api = await useTestApi();
const rollups: Pick<DatabaseClockOptions, 'readState' | 'writeDoubt'> = {
  readState: () => readRollupState(api.context.db),
  writeDoubt: (doubtedMs) => writeClockDoubt(api.context.db, doubtedMs),
};
const databaseClock = new DatabaseClock({ readClock: () => readClock(api.context.db), ...rollups, logger });
beforeEach(() => api.database.pool.query('delete from check_rollup_state'));

const YESTERDAY = Math.floor(Date.now() / 86_400_000 - 1) * 86_400_000;
const fallBehind = (): Promise<unknown> =>
  api.database.pool.query('insert into check_rollup_state (rolled_until) values ($1)', [new Date(YESTERDAY)]);

const rolledUntil = async (): Promise<number> =>
  (await readRollupState(api.context.db))?.rolledUntil.getTime() ?? 0;

/** The end of the last complete hour. */
const settled = (): number => Math.floor((Date.now() - 16 * 60_000) / HOUR_MS) * HOUR_MS;

describe('rolling up checks', () => {
  test('runs on the leader only, which clears a backlog in one run', async () => {
    const { db } = api.context;
    const standby = startRollUps({ db, databaseClock, isLeader: () => false, logger });
    await standby.stop();
    expect(await rolledUntil()).toBe(0);
    await fallBehind();
    const hour = settled();
    const leader = startRollUps({ db, databaseClock, isLeader: () => true, logger });
    await until('the backlog is cleared', async () => (await rolledUntil()) >= hour);
    await leader.stop();
  });

  test('stops after the current hour at shutdown, or when it no longer leads', async () => {
    const { db } = api.context;
    await fallBehind();
    let asked = 0;
    const loop = startRollUps({ db, databaseClock, isLeader: () => (asked += 1) <= 2, logger });
    await until('two hours are rolled up', () => asked >= 3);
    await loop.stop();
    expect(await rolledUntil()).toBe(YESTERDAY + 2 * HOUR_MS);
  });
});

/** Runs until the clock is read a second time, so that the work after the first reading is done. @returns what was rolled up */
async function rollUpByClock(aheadMs: number): Promise<number> {
  const { db } = api.context;
  let readings = 0;
  const clock = new DatabaseClock({
    readClock: async () => {
      readings += 1;
      return Date.now() + aheadMs;
    },
    ...rollups,
    logger,
  });
  const leader = startRollUps({ db, databaseClock: clock, isLeader: () => true, logger });
  leader.wake();
  await until('the clock is read again', () => readings >= 2);
  await leader.stop();
  return rolledUntil();
}

test('no hour is rolled up while the clock of Postgres and this one differ by more than a minute', async () => {
  await fallBehind();
  // Hours counted by a clock that is ahead have no checks, and are never counted again.
  for (const aheadMs of [100 * 24 * HOUR_MS, -65_000]) expect(await rollUpByClock(aheadMs)).toBe(YESTERDAY);
  expect(await rollUpByClock(0)).toBeGreaterThan(YESTERDAY);
});

describe('metrics of rollups', () => {
  test('export the progress and the gaps of the last hour, and nothing if these are unknown', async () => {
    // A reading is cached, so each scrape is of a process that has just started.
    const scrape = (readState = () => readRollupState(api.context.db)): Promise<string> => {
      const registry = createMetrics();
      registerRollupMetrics(registry, readState, logger);
      return registry.metrics();
    };
    const failing = await scrape(() => Promise.reject(new Error('unavailable')));
    expect(failing).toContain('process_cpu_seconds_total');
    for (const text of [failing, await scrape()]) expect(text).not.toMatch(/^tocsin_rollup/m);
    await api.database.pool.query(
      `insert into check_rollup_state (rolled_until, last_gaps) values ('2026-11-20T12:00:00Z', '{"a": 3, "b": 1}')`,
    );
    // A reading that takes too long is left out.
    const text = await until('a scrape shows the gaps', async () => {
      const text = await scrape();
      return text.includes('tocsin_rollup_gaps') && text;
    });
    expect(text).toMatch(/^tocsin_rollup_watermark_seconds 1795176000$/m);
    expect(text).toMatch(/^tocsin_rollup_gaps{region="a"} 3$/m);
    expect(text).toMatch(/^tocsin_rollup_gaps{region="b"} 1$/m);
  });
});
