import { setTimeout as wait } from 'node:timers/promises';
import { insertMonitors } from '../lab/create-monitors.ts';
import { openStage, startServices, type Stage } from '../lab/stage.ts';
import { untilChecked, untilScheduled } from '../lab/wait-until.ts';
import { readRecordedChecks } from '../measure/events.ts';
import { openWindow } from '../measure/window.ts';
import { figure, type Figure } from '../report/figure.ts';
import type { Bench, Measurement } from './scenario.ts';
import { cpuPerCheck } from './usage-figures.ts';

const SIZES = [1_000, 10_000, 50_000];
const LEAST_INTERVAL_SECONDS = 5;
/** What has just started is still being compiled. */
const WARM_UP_MS = 10_000;

/** More monitors, each checked less often, so that the rate stays where intervals allow it: does a check cost the same? */
export async function runGrowth(bench: Bench): Promise<Measurement> {
  const rate = bench.options.rate ?? 1_000;
  const seconds = bench.options.seconds ?? 6;
  const checkers = bench.options.checkers ?? 1;
  const sizes = bench.options.monitors === undefined ? SIZES : [bench.options.monitors];
  const stage = await openStage(bench, { protocol: 'http', queue: 'redis' });
  await startServices(stage, checkers);
  const figures: Figure[] = [];
  for (const monitors of sizes) {
    bench.say(`${monitors} monitors …`);
    figures.push(
      ...(await measureSize(stage, monitors, Math.max(LEAST_INTERVAL_SECONDS, monitors / rate), seconds)),
    );
    await stage.lab.database.pool.query('delete from monitors');
  }
  return { settings: { rate, seconds, checkers }, figures };
}

async function measureSize(
  { lab, targetUrl }: Stage,
  monitors: number,
  interval: number,
  seconds: number,
): Promise<Figure[]> {
  const plan = { count: monitors, intervalSeconds: interval, url: (n: number) => `${targetUrl}/m/${n}` };
  const ids = await insertMonitors(lab, plan);
  await untilScheduled(lab);
  // The checkers know every monitor: what is measured is the steady state.
  await untilChecked(lab);
  await wait(Math.max(0, WARM_UP_MS - interval * 1_000));
  const { span, usage } = await openWindow(lab, seconds);
  const { recorded } = await readRecordedChecks(lab.database.pool, ids, interval, span);
  return cpuPerCheck(usage, recorded).map(({ key, label, value, unit }) =>
    figure(`${monitors}-${key}`, key === 'cpu' ? `${monitors} monitors: CPU per check` : label, value, unit),
  );
}
