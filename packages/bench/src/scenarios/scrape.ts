import { setTimeout as wait } from 'node:timers/promises';
import {
  lagFigures,
  measureChecks,
  measureInTurns,
  sumWindows,
  type CheckWindow,
} from '../measure/checks.ts';
import { cpuMicros, cpuPerCheck } from '../measure/usage.ts';
import { requireProgram, startPrometheus, type Prometheus } from '../processes/server-programs.ts';
import { figure, type Figure } from '../report/figure.ts';
import { openStage } from '../stage.ts';
import type { Bench, Measurement } from './scenario.ts';

const MONITORS = 20_000;
const RATE = 1_000;
const SCRAPE_INTERVAL_SECONDS = 15;
/** Code that has just started is still being compiled. */
const WARM_UP_MS = 20_000;
const METRICS = '/api/cli/metrics';
const CHECKER_AND_STORES = ['checker', 'redis', 'postgres'];
const SERVICES_AND_STORES = [...CHECKER_AND_STORES, 'api', 'notifier'];

/** Measures the cost of being scraped by Prometheus. */
export async function runScrape(bench: Bench): Promise<Measurement> {
  requireProgram('prometheus');
  const { monitors = MONITORS, rate = RATE, seconds = 60, checkers = 1 } = bench.options;
  const interval = monitors / rate;
  const stage = await openStage(bench);
  const { system } = stage;
  await stage.startAll(checkers);
  const ids = await stage.checkMonitors(monitors, interval);
  await wait(WARM_UP_MS);
  let scrapes: Figure[] = [];
  const job = {
    job_name: 'tocsin-monitors',
    scrape_interval: `${SCRAPE_INTERVAL_SECONDS}s`,
    metrics_path: METRICS,
    authorization: { credentials: system.apiKey },
    static_configs: [{ targets: [`127.0.0.1:${system.apiPort()}`] }],
  };
  const windows = await measureInTurns(['alone', 'scraped'], async (kind) => {
    bench.say(`Measuring for ${seconds} s, ${kind === 'scraped' ? 'with' : 'without'} Prometheus …`);
    const prometheus = kind === 'scraped' ? await startPrometheus(bench, system.folder, job, 'up') : null;
    const window = await measureChecks(stage, ids, interval, seconds);
    if (prometheus !== null) scrapes = await scrapeFigures(prometheus);
    await prometheus?.stop();
    return window;
  });
  const [alone, scraped] = [sumWindows(windows.alone), sumWindows(windows.scraped)];
  const ratio = (programs: readonly string[]): number => micros(scraped, programs) / micros(alone, programs);
  return {
    settings: { monitors, rate, seconds, checkers },
    figures: [
      ...windowFigures('alone', 'without Prometheus', alone),
      ...windowFigures('scraped', 'with Prometheus', scraped),
      figure('cpu-ratio', 'CPU per check, with ÷ without', ratio(CHECKER_AND_STORES), '×', { atMost: 1.05 }),
      figure('cpu-all-ratio', '  including the api', ratio(SERVICES_AND_STORES), '×'),
      ...scrapes,
    ],
  };
}

function micros({ usage, checks }: CheckWindow, programs: readonly string[]): number {
  return cpuMicros(usage, programs) / checks.recorded;
}

function windowFigures(kind: string, label: string, window: CheckWindow): Figure[] {
  const { checks, lag, usage } = window;
  return [
    figure(`${kind}-checks`, `${label}: checks recorded`, checks.recorded, ''),
    figure(`${kind}-missed`, 'slots without an event', checks.missed, '', { atMost: 0 }),
    ...lagFigures(lag, undefined, `${kind}-`),
    ...cpuPerCheck(usage, checks.recorded, `${kind}-`),
    figure(
      `${kind}-cpu-all`,
      'CPU per check, all services and stores',
      micros(window, SERVICES_AND_STORES),
      'µs',
    ),
  ];
}

async function scrapeFigures({ query }: Prometheus): Promise<Figure[]> {
  const longest = await query('max_over_time(scrape_duration_seconds[1h])');
  const series = await query('max_over_time(scrape_samples_scraped[1h])');
  return [
    figure('scrape-max', 'longest scrape', longest * 1_000, 'ms'),
    figure('scrape-samples', 'series of a scrape', series, ''),
  ];
}
