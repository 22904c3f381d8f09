import { setTimeout as wait } from 'node:timers/promises';
import { untilChecked } from '@tocsin/lab/monitors';
import { measureChecks } from '../measure/checks.ts';
import { timeOf } from '../measure/requests.ts';
import { cpuPerCheck } from '../measure/usage.ts';
import { figure, type Figure } from '../report/figure.ts';
import { openStage } from '../stage.ts';
import type { Bench, Measurement } from './scenario.ts';

const BEFORE_FLUSH_MS = 5_000;
const GROWTH_SIZES = [1_000, 10_000, 50_000];
const MIN_INTERVAL_SECONDS = 5;
/** Code that has just started is still being compiled. */
const WARM_UP_MS = 10_000;

/** All services start at the same time, with an empty Redis and monitors that are scheduled according to Postgres. */
export async function runStart(bench: Bench): Promise<Measurement> {
  const { monitors = 10_000, interval = 10, checkers = 1 } = bench.options;
  const stage = await openStage(bench);
  const { system } = stage;
  await stage.insertMonitors(monitors, interval);
  await system.database.pool.query('update monitor_regions set scheduled_revision = 1');
  bench.say('Starting the services …');
  const startedAt = Date.now();
  const elapsed = (): number => (Date.now() - startedAt) / 1_000;
  await stage.startAll(checkers);
  const ready = elapsed();
  await stage.untilScheduled();
  const scheduled = elapsed();
  bench.say(`Every monitor is scheduled after ${scheduled.toFixed(1)} s; waiting until each is checked …`);
  await untilChecked(system, startedAt);
  return {
    settings: { monitors, interval, checkers },
    figures: [
      figure('ready', 'every service ready', ready, 's'),
      figure('scheduled', 'every monitor scheduled', scheduled, 's', { atMost: 15 }),
      figure('checked', 'every monitor checked', elapsed(), 's'),
    ],
  };
}

/** Redis loses everything while the system works. */
export async function runFlush(bench: Bench): Promise<Measurement> {
  const { monitors = 50_000, interval = 60, checkers = 1 } = bench.options;
  const stage = await openStage(bench);
  await stage.startAll(checkers);
  bench.say(`Scheduling ${monitors} monitors …`);
  await stage.insertMonitors(monitors, interval);
  const applied = await timeOf(() => stage.untilScheduled());
  await wait(BEFORE_FLUSH_MS);
  bench.say('Flushing Redis …');
  const recovered = await timeOf(async () => {
    await stage.redis?.flushall();
    await stage.untilScheduled();
  });
  return {
    settings: { monitors, interval, checkers },
    figures: [
      figure('applied', 'new monitors scheduled by the reconciler', applied / 1_000, 's'),
      figure('scheduled', 'after the flush: every monitor scheduled', recovered / 1_000, 's', { atMost: 15 }),
    ],
  };
}

/** Compares the cost of a check with more and more monitors. Their intervals keep the rate the same if possible. */
export async function runGrowth(bench: Bench): Promise<Measurement> {
  const { rate = 1_000, seconds = 6, checkers = 1, monitors } = bench.options;
  const stage = await openStage(bench);
  await stage.startAll(checkers);
  const figures: Figure[] = [];
  for (const size of monitors === undefined ? GROWTH_SIZES : [monitors]) {
    const interval = Math.max(MIN_INTERVAL_SECONDS, size / rate);
    const ids = await stage.checkMonitors(size, interval);
    await wait(Math.max(0, WARM_UP_MS - interval * 1_000));
    const { recorded, usage } = await measureChecks(stage, ids, interval, seconds);
    const [cpu] = cpuPerCheck(usage, recorded);
    figures.push(figure(`${size}-cpu`, `${size} monitors: CPU per check`, cpu?.value ?? Number.NaN, 'µs'));
    await stage.system.database.pool.query('delete from monitors');
  }
  return { settings: { rate, seconds, checkers }, figures };
}

/** Measures the memory of a checker that knows every monitor. */
export async function runCheckerMemory(bench: Bench): Promise<Measurement> {
  const { monitors = 50_000, interval = 50, seconds = 15 } = bench.options;
  const stage = await openStage(bench);
  await stage.startAll(1);
  const megabytes = (): number => (stage.usage().get('checker 1')?.rssBytes ?? Number.NaN) / 1_000_000;
  const startMb = megabytes();
  await stage.checkMonitors(monitors, interval);
  const samples: number[] = [];
  for (let second = 0; second < seconds; second += 1) {
    await wait(1_000);
    samples.push(megabytes());
  }
  return {
    settings: { monitors, interval, seconds },
    figures: [
      figure('rss-start', 'checker without monitors', startMb, 'MB'),
      figure('rss', 'checker with all monitors, maximum', Math.max(...samples), 'MB', { atMost: 300 }),
    ],
  };
}
