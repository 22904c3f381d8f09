import { setTimeout as wait } from 'node:timers/promises';
import { untilChecked } from '@tocsin/lab/monitors';
import { measureChecks } from '../measure/checks.ts';
import { readPeakRate, readRecordedChecks } from '../measure/events.ts';
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
  const { monitors = 50_000, interval = 60, checkers = 1, seconds = 30 } = bench.options;
  const stage = await openStage(bench);
  await stage.startAll(checkers);
  bench.say(`Scheduling ${monitors} monitors …`);
  const ids = await stage.insertMonitors(monitors, interval);
  const insertedAt = Date.now();
  await stage.untilScheduled();
  const applied = (Date.now() - insertedAt) / 1_000;
  await wait(BEFORE_FLUSH_MS);
  bench.say('Flushing Redis …');
  const from = Date.now();
  await stage.redis?.flushall();
  await stage.untilScheduled();
  const recovered = (Date.now() - from) / 1_000;
  await wait(seconds * 1_000);
  const span = { from, to: Date.now() };
  const { pool } = stage.system.database;
  const checks = await readRecordedChecks(pool, ids, interval, span);
  const peak = await readPeakRate(pool, span);
  return {
    settings: { monitors, interval, checkers, seconds },
    figures: [
      figure('applied', 'new monitors scheduled by the reconciler', applied, 's'),
      figure('scheduled', 'after the flush: every monitor scheduled', recovered, 's', { atMost: 15 }),
      figure('peak', 'busiest second after the flush', peak, '/s'),
      figure('peak-to-normal', '  ÷ normal rate', peak / (monitors / interval), '×', { atMost: 2 }),
      figure('missed', 'slots without an event', checks.missed, ''),
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
    const { checks, usage } = await measureChecks(stage, ids, interval, seconds);
    for (const { key, label, value, unit } of cpuPerCheck(usage, checks.recorded)) {
      const title = key === 'cpu' ? `${size} monitors: CPU per check` : label;
      figures.push(figure(`${size}-${key}`, title, value, unit));
    }
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
      figure('rss-least', 'checker with all monitors, minimum', Math.min(...samples), 'MB'),
    ],
  };
}
