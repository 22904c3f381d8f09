import { setTimeout as wait } from 'node:timers/promises';
import { insertMonitors } from '../lab/create-monitors.ts';
import { openStage, startServices, type Stage } from '../lab/stage.ts';
import { Teardown } from '../lab/teardown.ts';
import { untilChecked, untilScheduled } from '../lab/wait-until.ts';
import { readRecordedChecks } from '../measure/events.ts';
import { openWindow } from '../measure/window.ts';
import { figure, type Figure } from '../report/figure.ts';
import type { Bench, Measurement } from './scenario.ts';
import { cpuPerCheck } from './usage-figures.ts';

const SIZES = [5_000, 10_000, 50_000];

/** More monitors, each checked less often, so that the rate stays: does a check cost the same? With one checker and with two. */
export async function runGrowth(bench: Bench): Promise<Measurement> {
  const rate = bench.options.rate ?? 1_000;
  const seconds = bench.options.seconds ?? 10;
  const sizes = bench.options.monitors === undefined ? SIZES : [bench.options.monitors];
  const figures: Figure[] = [];
  for (const monitors of sizes) {
    const teardown = new Teardown();
    bench.teardown.onStop(() => teardown.run());
    bench.say(`${monitors} monitors:`);
    figures.push(...(await measureSize({ ...bench, teardown }, monitors, monitors / rate, seconds)));
    await teardown.run();
  }
  return { settings: { rate, seconds }, figures };
}

async function measureSize(
  bench: Bench,
  monitors: number,
  interval: number,
  seconds: number,
): Promise<Figure[]> {
  const stage = await openStage(bench, { protocol: 'http', queue: 'redis' });
  const { lab, targetUrl } = await startServices(stage, 1);
  const plan = { count: monitors, intervalSeconds: interval, url: (n: number) => `${targetUrl}/m/${n}` };
  const ids = await insertMonitors(lab, plan);
  await untilScheduled(lab);
  // The checkers know every monitor: what is measured is the steady state.
  await untilChecked(lab);
  const one = await cpuOf(stage, ids, interval, seconds);
  await stage.startChecker(2);
  await wait(interval * 1_000);
  const two = await cpuOf(stage, ids, interval, seconds);
  return [
    ...keyed(`${monitors}-1`, `${monitors} monitors, 1 checker`, one),
    ...keyed(`${monitors}-2`, `${monitors} monitors, 2 checkers`, two),
  ];
}

async function cpuOf(
  { lab }: Stage,
  ids: readonly string[],
  interval: number,
  seconds: number,
): Promise<Figure[]> {
  const { span, usage } = await openWindow(lab, seconds);
  const { recorded } = await readRecordedChecks(lab.database.pool, ids, interval, span);
  return cpuPerCheck(usage, recorded);
}

function keyed(key: string, label: string, figures: readonly Figure[]): Figure[] {
  return figures.map((one) =>
    figure(
      `${key}-${one.key}`,
      one.key === 'cpu' ? `${label}: CPU per check` : one.label,
      one.value,
      one.unit,
    ),
  );
}
