import type { Bar } from '../report/figure.ts';
import { runApi } from './api.ts';
import { runFleet } from './fleet.ts';
import { runDistance } from './distance.ts';
import { runHistory } from './history.ts';
import { runLists } from './lists.ts';
import { runCheckerMemory, runFlush, runGrowth, runStart } from './scale.ts';
import { runLoad, type LoadPlan } from './load.ts';
import type { Scenario } from './scenario.ts';
import { runOutage } from './outage.ts';
import { runPeers, type PeersPlan } from './peers.ts';
import { runScrape } from './scrape.ts';
import { runSelectors } from './selectors.ts';
import { runTail } from './tail.ts';

const LAG: Readonly<Record<string, Bar>> = { missed: { atMost: 0 }, 'lag-p99': { atMost: 1_000 } };

/** Growth of each program's memory over 100 minutes, MB. */
const FLAT_MEMORY = Object.fromEntries(
  ['checker-1', 'checker-2', 'redis', 'postgres', 'api', 'notifier', 'resolver'].map((name) => [
    `growth-${name}`,
    { atMost: 15 },
  ]),
);

function load(name: string, plan: LoadPlan, bars: Scenario['bars'] = {}): Scenario {
  const { rate, protocol = 'http', queue, hanging } = plan;
  const store = queue === 'postgres' ? ', queue on Postgres' : '';
  const targets = hanging ? ', of targets that never respond' : '';
  return {
    name,
    about: `${Math.round(rate).toLocaleString('en-US')} ${protocol} checks per second${store}${targets}`,
    bars: { done: { atLeast: rate * 0.99 }, ...LAG, ...bars },
    run: (bench) => runLoad(bench, plan),
  };
}

function peers(name: string, plan: PeersPlan): Scenario {
  return {
    name,
    about: `Tocsin, and Debian's blackbox_exporter with Prometheus, at ${plan.rate.toLocaleString('en-US')} ${plan.protocol} checks per second`,
    bars: { 'tocsin-done': { atLeast: 99 }, 'peer-done': { atLeast: 99 }, 'tocsin-to-peer': { atMost: 0.5 } },
    run: (bench) => runPeers(bench, plan),
  };
}

/** Every scenario, in the order of `all`. */
export const SCENARIOS: readonly Scenario[] = [
  load(
    'http-1000',
    { rate: 1_000 },
    {
      'lag-p99': { atMost: 150 },
      cpu: { atMost: 550 },
      'cpu-to-floor': { atMost: 2 },
      'webhook-p99': { atMost: 500 },
      'webhook-missing': { atMost: 0 },
    },
  ),
  load('http-3000', { rate: 3_000 }, { 'cpu-to-floor': { atMost: 1.7 } }),
  load(
    'https-500',
    { rate: 500, protocol: 'https' },
    { 'lag-p99': { atMost: 500 }, 'checker-to-floor': { atMost: 0.9 } },
  ),
  load('https-1000', { rate: 1_000, protocol: 'https', checkers: 2, inserted: true }),
  load('hanging', { rate: 10_000 / 60, interval: 60, seconds: 90, hanging: true }),
  load('postgres-200', { rate: 200, queue: 'postgres' }),
  { name: 'api', about: 'requests to the API, 1,000 monitors, 8 clients', bars: {}, run: runApi },
  {
    name: 'start',
    about: 'all services start with 10,000 monitors and an empty Redis',
    bars: { scheduled: { atMost: 15 } },
    run: runStart,
  },
  {
    name: 'flush',
    about: 'Redis loses the schedules of 50,000 monitors',
    bars: { scheduled: { atMost: 15 }, 'peak-to-normal': { atMost: 2 } },
    run: runFlush,
  },
  {
    name: 'growth',
    about: 'CPU per check with 1,000 monitors (200 checks per second), 10,000 and 50,000 (1,000 per second)',
    bars: {},
    run: runGrowth,
  },
  {
    name: 'checker-memory',
    about: 'memory of a checker with 50,000 monitors',
    bars: { rss: { atMost: 300 } },
    run: runCheckerMemory,
  },
  {
    name: 'history',
    about:
      'requests with 10,000,000 packed events over 90 days; 100,000,000 need 12 GB of disk and some minutes',
    bars: {
      'events-p99': { atMost: 15 },
      'packed-bytes': { atMost: 40 },
    },
    run: runHistory,
  },
  {
    name: 'tail',
    about: '`tocsin tail -f` of 5,000 monitors at 100 checks per second with 1,200 requests a minute',
    bars: {
      missing: { atMost: 0 },
      repeated: { atMost: 0 },
      unknown: { atMost: 0 },
      disordered: { atMost: 0 },
      limited: { atMost: 0 },
    },
    run: runTail,
  },
  {
    name: 'distance',
    about: '1,000 checks per second of a checker that is up to 300 ms from Postgres, Redis, or both',
    bars: {
      'both-150-done': { atLeast: 990 },
      'both-150-missed': { atMost: 0 },
      'both-150-lag-p99': { atMost: 1_000 },
      'both-150-webhook-p99': { atMost: 2_000 },
      'both-150-webhook-missing': { atMost: 0 },
    },
    run: runDistance,
  },
  {
    name: 'selectors',
    about: 'status changes with 1,000 channels, and 10,000 monitors that are relabeled',
    bars: { 'relabel-20': { atMost: 3_000 } },
    run: runSelectors,
  },
  {
    name: 'outage',
    about: '10,000 monitors go down at once; their receiver takes 100 ms for each webhook',
    bars: { last: { atMost: 30 }, ratio: { atMost: 1.2 }, 'other-ratio': { atMost: 2 } },
    run: runOutage,
  },
  {
    name: 'scrape',
    about:
      "Debian's Prometheus scrapes the metrics of 20,000 monitors every 15 s, at 1,000 checks per second",
    bars: { 'cpu-ratio': { atMost: 1.05 }, 'scraped-missed': { atMost: 0 } },
    run: runScrape,
  },
  {
    name: 'lists',
    about: 'the list of 50,000 monitors: compressed, not compressed, not modified, and four at once',
    bars: {
      'gzip-p99': { atMost: 1_500 },
      'identity-p99': { atMost: 1_500 },
      'gzip-memory': { atMost: 100 },
      'identity-memory': { atMost: 100 },
      'at-once-memory': { atMost: 100 },
      'unchanged-p99': { atMost: 150 },
    },
    run: runLists,
  },
  peers('peers', { rate: 1_000, protocol: 'http' }),
  peers('peers-https', { rate: 500, protocol: 'https' }),
  {
    name: 'fleet',
    about:
      '120,000 monitors at one minute for two hours, with names, slow and hanging targets, outages and a short history; needs root',
    bars: {
      missed: { atMost: 0 },
      repeated: { atMost: 0 },
      'lag-p99': { atMost: 1_000 },
      'false-failures': { atMost: 0 },
      'false-passes': { atMost: 0 },
      'webhooks-missing': { atMost: 0 },
      'webhooks-unexpected': { atMost: 0 },
      'api-failures': { atMost: 0 },
      'partitions-packed': { atLeast: 3 },
      'partitions-expired': { atLeast: 1 },
      ...FLAT_MEMORY,
    },
    isLong: true,
    run: runFleet,
  },
];
