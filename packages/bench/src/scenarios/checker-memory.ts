import { setTimeout as wait } from 'node:timers/promises';
import { insertMonitors } from '../lab/create-monitors.ts';
import { openStage, startServices } from '../lab/stage.ts';
import { untilChecked, untilScheduled } from '../lab/wait-until.ts';
import { readUsage } from '../measure/proc.ts';
import { figure } from '../report/figure.ts';
import type { Bench, Measurement } from './scenario.ts';

/** How much memory a checker takes that knows every monitor. */
export async function runCheckerMemory(bench: Bench): Promise<Measurement> {
  const monitors = bench.options.monitors ?? 50_000;
  const interval = bench.options.interval ?? 50;
  const seconds = bench.options.seconds ?? 15;
  const stage = await openStage(bench, { protocol: 'http', queue: 'redis' });
  const { lab, targetUrl } = await startServices(stage, 1);
  const startMb = checkerMegabytes(lab.programs);
  bench.say(`Scheduling ${monitors} monitors …`);
  await insertMonitors(lab, {
    count: monitors,
    intervalSeconds: interval,
    url: (n) => `${targetUrl}/m/${n}`,
  });
  await untilScheduled(lab);
  bench.say('Waiting until each has been checked …');
  await untilChecked(lab);
  const seen: number[] = [];
  for (let second = 0; second < seconds; second += 1) {
    await wait(1_000);
    seen.push(checkerMegabytes(lab.programs));
  }
  return {
    settings: { monitors, interval, seconds },
    figures: [
      figure('rss-start', 'checker without monitors', startMb, 'MB'),
      figure('rss', 'checker with all monitors, most', Math.max(...seen), 'MB'),
      figure('rss-least', 'checker with all monitors, least', Math.min(...seen), 'MB'),
    ],
  };
}

function checkerMegabytes(programs: ReadonlyMap<string, number>): number {
  return (readUsage(programs).get('checker 1')?.rssBytes ?? Number.NaN) / 1_000_000;
}
