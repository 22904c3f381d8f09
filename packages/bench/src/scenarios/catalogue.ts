import { runAgents } from './agents.ts';
import { runApi } from './api.ts';
import { runFleet } from './fleet.ts';
import { runHistory } from './history.ts';
import { runLists } from './lists.ts';
import { runLoad, type LoadPlan } from './load.ts';
import { runOutage } from './outage.ts';
import { runPeers } from './peers.ts';
import { runCheckerMemory, runFlush, runGrowth, runStart } from './scale.ts';
import type { Scenario } from './scenario.ts';
import { runScrape } from './scrape.ts';

function load(name: string, plan: LoadPlan): Scenario {
  const { rate, protocol = 'http', queue } = plan;
  const store = queue === 'postgres' ? ', queue on Postgres' : '';
  const about = `${rate.toLocaleString('en-US')} ${protocol} checks per second${store}`;
  return { name, about, run: (bench) => runLoad(bench, plan) };
}

function agents(name: string, plan: Parameters<typeof runAgents>[1]): Scenario {
  const about = `${plan.rate} checks per second through an agent, ${plan.roundTripMs ?? 0} ms from its gateway`;
  return { name, about, run: (bench) => runAgents(bench, plan) };
}

/** Every scenario, in the order of `all`. */
export const SCENARIOS: readonly Scenario[] = [
  load('http-1000', {
    rate: 1_000,
    maximums: { 'lag-p99': 150, cpu: 550, 'cpu-to-floor': 2, 'webhook-p99': 500, 'webhook-missing': 0 },
  }),
  load('http-3000', { rate: 3_000, maximums: { 'cpu-to-floor': 1.7 } }),
  load('https-500', {
    rate: 500,
    protocol: 'https',
    maximums: { 'lag-p99': 500, 'checker-to-floor': 0.9 },
  }),
  load('postgres-200', { rate: 200, queue: 'postgres' }),
  agents('agents', { rate: 1_000, maximums: { 'cpu-ratio': 1.25, memory: 120 } }),
  agents('agents-150', {
    rate: 1_500,
    roundTripMs: 150,
    maximums: { 'agent-missed': 0, 'agent-lag-p99': 500, 'agent-webhook-p99': 1_000 },
  }),
  agents('agents-300', {
    rate: 1_000,
    roundTripMs: 300,
    stalls: 1,
    maximums: { 'agent-missed': 0, 'agent-lag-p99': 1_000, 'agent-webhook-p99': 1_500 },
  }),
  { name: 'api', about: 'requests to the API, 1,000 monitors, 8 clients', run: runApi },
  {
    name: 'start',
    about: 'all services start with 10,000 monitors and an empty Redis',
    run: runStart,
  },
  { name: 'flush', about: 'Redis loses the schedules of 50,000 monitors', run: runFlush },
  {
    name: 'growth',
    about: 'CPU per check with 1,000 monitors (200 checks per second), 10,000 and 50,000 (1,000 per second)',
    run: runGrowth,
  },
  { name: 'checker-memory', about: 'memory of a checker with 50,000 monitors', run: runCheckerMemory },
  {
    name: 'history',
    about: 'requests with 10,000,000 packed events over 90 days; 100,000,000 need 12 GB of disk',
    run: runHistory,
  },
  {
    name: 'outage',
    about: '10,000 monitors go down at once; their receiver takes 100 ms for each webhook',
    run: (bench) =>
      runOutage(bench, {
        monitors: 10_000,
        channels: 1,
        responseMs: 100,
        maximums: { last: 30, ratio: 1.2, 'other-ratio': 2 },
      }),
  },
  {
    name: 'fan-out',
    about: '20 monitors with 300 channels go down at once; their receiver responds immediately',
    run: (bench) =>
      runOutage(bench, { monitors: 20, channels: 300, responseMs: 0, maximums: { 'during-p99': 2_000 } }),
  },
  {
    name: 'scrape',
    about: "Debian's Prometheus scrapes the metrics of 20,000 monitors, at 1,000 checks per second",
    run: runScrape,
  },
  {
    name: 'lists',
    about: 'the list of 50,000 monitors: compressed, not compressed, not modified, and four at once',
    run: runLists,
  },
  {
    name: 'peers',
    about: "Tocsin, and Debian's blackbox_exporter with Prometheus, at 1,000 checks per second",
    run: runPeers,
  },
  {
    name: 'fleet',
    about: '120,000 monitors for two hours, with outages, an api in use and a short history; needs root',
    isLong: true,
    run: runFleet,
  },
];
