import { setTimeout as wait } from 'node:timers/promises';
import { measureChecks, measureInTurns, type CheckWindow } from '../measure/checks.ts';
import { cpuMicros } from '../measure/usage.ts';
import { requireProgram, startPrometheus } from '../processes/server-programs.ts';
import { figure } from '../report/figure.ts';
import { openStage } from '../stage.ts';
import type { Bench, Measurement } from './scenario.ts';

const SCRAPE_INTERVAL_SECONDS = 15;
/** Code that has just started is still being compiled. */
const WARM_UP_MS = 20_000;
const CHECKER_AND_STORES = ['checker', 'redis', 'postgres'];

/** Measures the cost of being scraped by Prometheus. */
export async function runScrape(bench: Bench): Promise<Measurement> {
  requireProgram('prometheus');
  const { monitors = 20_000, rate = 1_000, seconds = 60, checkers = 1 } = bench.options;
  const interval = monitors / rate;
  const stage = await openStage(bench);
  const { system } = stage;
  await stage.startAll(checkers);
  const ids = await stage.checkMonitors(monitors, interval);
  await wait(WARM_UP_MS);
  let longestScrape = Number.NaN;
  const job = {
    job_name: 'tocsin-monitors',
    scrape_interval: `${SCRAPE_INTERVAL_SECONDS}s`,
    metrics_path: '/api/cli/metrics',
    authorization: { credentials: system.apiKey },
    static_configs: [{ targets: [`127.0.0.1:${system.apiPort()}`] }],
  };
  const { alone, scraped } = await measureInTurns(['alone', 'scraped'], async (kind) => {
    bench.say(`Measuring for ${seconds} s, ${kind === 'scraped' ? 'with' : 'without'} Prometheus …`);
    if (kind === 'alone') return measureChecks(stage, ids, interval, seconds);
    const prometheus = await startPrometheus(bench, system.folder, job, 'up');
    const window = await measureChecks(stage, ids, interval, seconds);
    longestScrape = await prometheus.query('max_over_time(scrape_duration_seconds[1h])');
    await prometheus.stop();
    return window;
  });
  const ratioOf = (...programs: readonly string[]): number => {
    const micros = ({ usage, recorded }: CheckWindow): number => cpuMicros(usage, programs) / recorded;
    return micros(scraped) / micros(alone);
  };
  return {
    settings: { monitors, rate, seconds, checkers },
    figures: [
      figure('alone-missed', 'slots without an event, without Prometheus', alone.missed, '', { atMost: 0 }),
      figure('scraped-missed', '  with Prometheus', scraped.missed, '', { atMost: 0 }),
      figure('cpu-ratio', 'CPU per check, with ÷ without', ratioOf(...CHECKER_AND_STORES), '×', {
        atMost: 1.05,
      }),
      figure('cpu-all-ratio', '  including the api', ratioOf(...CHECKER_AND_STORES, 'api', 'notifier'), '×'),
      figure('scrape-max', 'longest scrape', longestScrape * 1_000, 'ms'),
    ],
  };
}
