import { setTimeout as wait } from 'node:timers/promises';
import { insertMonitors } from '../lab/create-monitors.ts';
import { openStage, startServices } from '../lab/stage.ts';
import { untilScheduled } from '../lab/wait-until.ts';
import { readPeakRate, readRecordedChecks } from '../measure/events.ts';
import { figure } from '../report/figure.ts';
import type { Bench, Measurement } from './scenario.ts';

const BEFORE_MS = 5_000;

/** Redis loses everything while the system works. */
export async function runFlush(bench: Bench): Promise<Measurement> {
  const monitors = bench.options.monitors ?? 50_000;
  const interval = bench.options.interval ?? 60;
  const checkers = bench.options.checkers ?? 1;
  const seconds = bench.options.seconds ?? 30;
  const stage = await openStage(bench, { protocol: 'http', queue: 'redis' });
  const { lab, targetUrl } = await startServices(stage, checkers);
  const plan = { count: monitors, intervalSeconds: interval, url: (n: number) => `${targetUrl}/m/${n}` };
  bench.say(`Scheduling ${monitors} monitors …`);
  const ids = await insertMonitors(lab, plan);
  const insertedAt = Date.now();
  await untilScheduled(lab);
  const applied = (Date.now() - insertedAt) / 1_000;
  await wait(BEFORE_MS);
  bench.say('Flushing Redis …');
  const from = Date.now();
  await lab.redis?.flushall();
  await untilScheduled(lab);
  const mended = (Date.now() - from) / 1_000;
  await wait(seconds * 1_000);
  const span = { from, to: Date.now() };
  const checks = await readRecordedChecks(lab.database.pool, ids, interval, span);
  const peak = await readPeakRate(lab.database.pool, span);
  return {
    settings: { monitors, interval, checkers, seconds },
    figures: [
      figure('applied', 'new monitors scheduled by the reconciler', applied, 's'),
      figure('scheduled', 'after the flush: every monitor scheduled', mended, 's'),
      figure('peak', 'busiest second after the flush', peak, '/s'),
      figure('peak-to-normal', '  ÷ normal rate', peak / (monitors / interval), '×'),
      figure('missed', 'slots without an event', checks.missed, ''),
    ],
  };
}
