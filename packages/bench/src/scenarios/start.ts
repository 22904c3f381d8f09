import { insertMonitors } from '../lab/create-monitors.ts';
import { openStage, startServices } from '../lab/stage.ts';
import { untilChecked, untilScheduled } from '../lab/wait-until.ts';
import { figure } from '../report/figure.ts';
import type { Bench, Measurement } from './scenario.ts';

/** Every service starts at once, with monitors that are scheduled as far as Postgres knows, and an empty Redis. */
export async function runStart(bench: Bench): Promise<Measurement> {
  const monitors = bench.options.monitors ?? 10_000;
  const interval = bench.options.interval ?? 10;
  const checkers = bench.options.checkers ?? 1;
  const stage = await openStage(bench, { protocol: 'http', queue: 'redis' });
  const { lab, targetUrl } = stage;
  await insertMonitors(lab, {
    count: monitors,
    intervalSeconds: interval,
    url: (n) => `${targetUrl}/m/${n}`,
  });
  await lab.database.pool.query('update monitor_regions set scheduled_revision = 1');
  bench.say('Starting the services …');
  const startedAt = Date.now();
  const since = (): number => (Date.now() - startedAt) / 1_000;
  await startServices(stage, checkers);
  const ready = since();
  await untilScheduled(lab);
  const scheduled = since();
  bench.say(
    `Every monitor is scheduled after ${scheduled.toFixed(1)} s; waiting until each has been checked …`,
  );
  await untilChecked(lab, startedAt);
  return {
    settings: { monitors, interval, checkers },
    figures: [
      figure('ready', 'every service ready', ready, 's'),
      figure('scheduled', 'every monitor scheduled', scheduled, 's'),
      figure('checked', 'every monitor checked', since(), 's'),
    ],
  };
}
