import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { untilChecked, untilScheduled } from '@tocsin/lab/monitors';
import type { System } from '@tocsin/lab/system';
import { readRecordedChecks } from '../measure/events.ts';
import { type Histogram, histogramPercentile, subtractHistogram } from '../measure/histogram.ts';
import type { Usage } from '../measure/proc.ts';
import { findPrometheus, startPrometheus, type Prometheus } from '../processes/prometheus.ts';
import { figure, type Figure } from '../report/figure.ts';
import { measureUsage, openStage, type Stage } from '../stage.ts';
import { readLag } from './load.ts';
import type { Bench, Measurement } from './scenario.ts';

const MONITORS = 20_000;
const RATE = 1_000;
const SCRAPE_INTERVAL_SECONDS = 15;
/** Code that has just started is still being compiled. */
const WARM_UP_MS = 20_000;
const METRICS = '/api/cli/metrics';

/** What Prometheus costs the system that it scrapes. Windows with and without it take turns, because the machine may drift. */
export async function runScrape(bench: Bench): Promise<Measurement> {
  findPrometheus();
  const { monitors = MONITORS, rate = RATE, seconds = 60, checkers = 1 } = bench.options;
  const interval = monitors / rate;
  const stage = await openStage(bench);
  const { system, redis } = stage;
  if (redis === null) throw new Error('the queue is not on Redis');
  await stage.startAll(checkers);
  bench.say(`Scheduling ${monitors} monitors …`);
  const ids = await stage.insertMonitors(monitors, interval);
  await untilScheduled(system, redis);
  await untilChecked(system);
  await wait(WARM_UP_MS);
  const windows: Record<'alone' | 'scraped', Window[]> = { alone: [], scraped: [] };
  let scrapes: Figure[] = [];
  const from = process.hrtime.bigint();
  for (const kind of ['alone', 'scraped', 'scraped', 'alone'] as const) {
    bench.say(`Measuring for ${seconds} s, ${kind === 'scraped' ? 'with' : 'without'} Prometheus …`);
    const prometheus = kind === 'scraped' ? await scrapeMetrics(bench, system) : null;
    windows[kind].push(await measureWindow(stage, ids, interval, seconds));
    if (prometheus === null) continue;
    scrapes = await scrapeFigures(prometheus);
    await prometheus.stop();
  }
  const [alone, scraped] = [combine(windows.alone), combine(windows.scraped)];
  return {
    settings: { monitors, rate, seconds, checkers },
    figures: [
      ...windowFigures('alone', 'without Prometheus', alone),
      ...windowFigures('scraped', 'with Prometheus', scraped),
      figure('cpu-ratio', 'CPU per check, with ÷ without', scraped.cpu / alone.cpu, '×'),
      figure('cpu-all-ratio', '  including the api', scraped.cpuWithApi / alone.cpuWithApi, '×'),
      ...scrapes,
      ...(await measureResponse(stage)),
    ],
    ...(await stage.profileNotes({ from, to: process.hrtime.bigint() })),
  };
}

interface Window {
  readonly lag: Histogram;
  readonly checks: number;
  readonly missed: number;
  /** By program, without targets. */
  readonly cpuMs: ReadonlyMap<string, number>;
}

async function measureWindow(
  stage: Stage,
  ids: readonly string[],
  interval: number,
  seconds: number,
): Promise<Window> {
  const before = await readLag(stage);
  const { span, usage } = await measureUsage(stage, () => wait(seconds * 1_000));
  const lag = subtractHistogram(await readLag(stage), before);
  const { recorded, missed } = await readRecordedChecks(stage.system.database.pool, ids, interval, span);
  return { lag, checks: recorded, missed, cpuMs: cpuOf(usage) };
}

function cpuOf(usage: ReadonlyMap<string, Usage>): Map<string, number> {
  const own = [...usage].filter(([name]) => name !== 'web-target');
  return new Map(own.map(([name, { cpuMs }]) => [name, cpuMs]));
}

/** The windows of a kind as one. CPU time in µs per check: of checkers and stores, and with the api. */
function combine(windows: readonly Window[]) {
  const checks = windows.reduce((sum, window) => sum + window.checks, 0);
  const micros = (isCounted: (name: string) => boolean): number =>
    (windows
      .flatMap(({ cpuMs }) => [...cpuMs])
      .reduce((sum, [name, cpuMs]) => sum + (isCounted(name) ? cpuMs : 0), 0) *
      1_000) /
    checks;
  const lag = windows.flatMap((window) => window.lag);
  const bounds = [...new Set(lag.map(({ atMost }) => atMost))].toSorted((one, other) => one - other);
  const merged = bounds.map((atMost) => ({
    atMost,
    count: lag.reduce((sum, bucket) => sum + (bucket.atMost === atMost ? bucket.count : 0), 0),
  }));
  return {
    checks,
    missed: windows.reduce((sum, { missed }) => sum + missed, 0),
    lagP99Ms: histogramPercentile(merged, 99) * 1_000,
    cpu: micros((name) => name !== 'api' && name !== 'notifier'),
    cpuPostgres: micros((name) => name === 'postgres'),
    cpuWithApi: micros(() => true),
  };
}

function windowFigures(
  kind: string,
  label: string,
  { checks, missed, lagP99Ms, cpu, cpuPostgres, cpuWithApi }: ReturnType<typeof combine>,
): Figure[] {
  return [
    figure(`${kind}-checks`, `${label}: checks recorded`, checks, ''),
    figure(`${kind}-missed`, '  slots without an event', missed, ''),
    figure(`${kind}-lag-p99`, '  schedule lag p99', lagP99Ms, 'ms'),
    figure(`${kind}-cpu`, '  CPU per check, checker and stores', cpu, 'µs'),
    figure(`${kind}-cpu-postgres`, '    PostgreSQL', cpuPostgres, 'µs'),
    figure(`${kind}-cpu-all`, '  CPU per check, all services and stores', cpuWithApi, 'µs'),
  ];
}

/** Prometheus, which scrapes the metrics of the account. */
async function scrapeMetrics(bench: Bench, system: System): Promise<Prometheus> {
  const job = {
    job_name: 'tocsin-monitors',
    scrape_interval: `${SCRAPE_INTERVAL_SECONDS}s`,
    metrics_path: METRICS,
    authorization: { credentials: system.apiKey },
    static_configs: [{ targets: [`127.0.0.1:${system.apiPort()}`] }],
  };
  return startPrometheus(bench, system.folder, job, 'up');
}

async function scrapeFigures({ query }: Prometheus): Promise<Figure[]> {
  const longest = await query('max_over_time(scrape_duration_seconds[1h])');
  return [
    figure('scrape-max', 'longest scrape', longest * 1_000, 'ms'),
    figure(
      'scrape-samples',
      'series of a scrape',
      await query('max_over_time(scrape_samples_scraped[1h])'),
      '',
    ),
  ];
}

/** The size of a response, and the memory of the api after it. */
async function measureResponse(stage: Stage): Promise<Figure[]> {
  const { system } = stage;
  const sizeOf = async (encoding: string): Promise<number> => {
    const headers = { Authorization: `Bearer ${system.apiKey}`, 'Accept-Encoding': encoding };
    const sent = request({ port: system.apiPort(), path: METRICS, headers }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    let bytes = 0;
    for await (const chunk of response) bytes += (chunk as Buffer).length;
    return bytes / 1_000_000;
  };
  return [
    figure('size', 'size of a response', await sizeOf('identity'), 'MB'),
    figure('size-gzip', '  compressed', await sizeOf('gzip'), 'MB'),
    figure(
      'rss-api',
      'memory of the api',
      (stage.usage().get('api')?.rssBytes ?? Number.NaN) / 1_000_000,
      'MB',
    ),
  ];
}
