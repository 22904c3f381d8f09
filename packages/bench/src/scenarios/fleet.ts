import { statfs } from 'node:fs/promises';
import { freemem } from 'node:os';
import { webhookPayloadSchema } from '@tocsin/contracts/deliveries/webhook';
import { Client } from 'pg';
import { startTraffic } from '../fleet/api-traffic.ts';
import {
  alertFigures,
  fleetMemoryFigures,
  historyFigures,
  recordedOf,
  slotFigures,
} from '../fleet/figures.ts';
import { compareAlerts, type Alert } from '../fleet/find-alerts.ts';
import { startNameServers, type NameServers, type QueryCounts } from '../fleet/name-servers.ts';
import { observe, type Observation } from '../fleet/observe.ts';
import { hostsOf } from '../fleet/plan.ts';
import { startFleet } from '../fleet/start-fleet.ts';
import type { Usage } from '../measure/proc.ts';
import { figure, type Figure } from '../report/figure.ts';
import { openStage, type Stage } from '../stage.ts';
import type { Bench, Measurement } from './scenario.ts';
import { cpuPerCheck } from './usage-figures.ts';

const RETENTION_DAYS = 0.05;
const PARTITION_MINUTES = 20;
/** Short days and hours, so that two hours turn over what takes months in production. */
const SHORT_PERIODS = {
  EVENT_PARTITION_MINUTES: String(PARTITION_MINUTES),
  ROLLUP_PERIOD_MINUTES: '10',
  EVENT_RETENTION_DAYS: String(RETENTION_DAYS),
};
/** Events with their index, and the log that Postgres writes ahead. */
const BYTES_PER_EVENT = 350;
const OTHER_BYTES = 5_000_000_000;
const BYTES_PER_MONITOR = 15_000;
const SHOWN_ALERTS = 20;

/** A fleet as in production, for hours: names, slow and hanging targets, outages, an api in use, and a history that turns over. */
export async function runFleet(bench: Bench): Promise<Measurement> {
  const { monitors = 120_000, interval = 60, seconds = 7_200, checkers = 2 } = bench.options;
  const stage = await openStage(bench, { partitionMinutes: PARTITION_MINUTES });
  const { system } = stage;
  const keptSeconds = Math.min(seconds, RETENTION_DAYS * 86_400);
  await warnOfLimits(bench, system.folder, monitors, (monitors / interval) * keptSeconds);
  const names = await startNameServers(bench, system.folder, hostsOf(monitors));
  for (const [name, pid] of names.pids) stage.addProgram(name, pid);
  const fleet = await startFleet(bench, stage, names, { monitors, interval, checkers }, SHORT_PERIODS);
  const [api] = stage.running('api');
  if (api === undefined) throw new Error('no api is running');
  const traffic = await startTraffic(bench, system, api, fleet.ids.all);
  const client = await openClient(bench, stage);
  bench.say(`Measuring for ${seconds} s …`);
  const namesBefore = await names.readCounts();
  const clockFrom = process.hrtime.bigint();
  const observation = await observe(bench, stage, client, fleet.ids, { interval, seconds });
  const clock = { from: clockFrom, to: process.hrtime.bigint() };
  const lookups = lookupFigures(namesBefore, await names.readCounts(), clock);
  const apiFigures = await traffic.stop();
  const alerts = compareAlerts(alertsOf(stage), fleet.phases, observation.span, interval * 1_000);
  const { samples, windows } = observation;
  return {
    settings: { monitors, interval, seconds, checkers, ...SHORT_PERIODS },
    figures: [
      ...slotFigures(observation),
      ...alertFigures(alerts),
      ...cpuFigures(observation, names),
      ...lookups,
      ...apiFigures,
      ...historyFigures(samples),
      ...fleetMemoryFigures(samples),
    ],
    notes: [
      ...alerts.unexpected.slice(0, SHOWN_ALERTS).map((alert) => `  unexpected: ${JSON.stringify(alert)}`),
      ...((await stage.profileNotes(clock)).notes ?? []),
    ],
    details: {
      windows,
      samples: samples.map(({ at, usage, history }) => ({
        at,
        usage: Object.fromEntries(usage),
        databaseBytes: history.databaseBytes,
        rolledUntil: history.rolledUntil,
        partitions: Object.fromEntries(history.partitions),
      })),
    },
  };
}

/** A run that fails after an hour because the disk is full would be a waste. */
async function warnOfLimits({ say }: Bench, folder: string, monitors: number, events: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const limits = [
    { what: 'disk', free: bavail * bsize, needed: events * BYTES_PER_EVENT + OTHER_BYTES },
    { what: 'memory', free: freemem(), needed: monitors * BYTES_PER_MONITOR },
  ];
  for (const { what, free, needed } of limits) {
    const [has, wants] = [free, needed].map((bytes) => `${(bytes / 1_000_000_000).toFixed(1)} GB`);
    if (free < needed) say(`WARNING: the run needs about ${wants} of ${what}. This machine has ${has} left.`);
  }
}

/** A session without the time limits of the pool. */
async function openClient({ teardown }: Bench, { system }: Stage): Promise<Client> {
  const client = new Client({ connectionString: system.databaseUrl });
  await client.connect();
  teardown.onStop(() => client.end());
  return client;
}

function alertsOf({ receiver }: Stage): Alert[] {
  return receiver.received.map(({ at, headers, body }) => {
    const { monitorId, event, timestamp } = webhookPayloadSchema.parse(JSON.parse(body));
    return {
      webhookId: String(headers['webhook-id']),
      monitorId,
      status: event === 'monitor.down' ? 'DOWN' : 'UP',
      timestamp: Date.parse(timestamp),
      receivedAt: at.getTime(),
    };
  });
}

function cpuFigures({ samples, windows }: Observation, { pids }: NameServers): Figure[] {
  const checks = recordedOf(windows);
  const before = samples[0]?.usage;
  const used = [...(samples.at(-1)?.usage ?? [])].map(([name, { cpuMs, rssBytes }]): [string, Usage] => [
    name,
    { cpuMs: cpuMs - (before?.get(name)?.cpuMs ?? 0), rssBytes },
  ]);
  const usage = new Map(used);
  const nameServers = [...pids.keys()].map((name) => {
    const micros = ((usage.get(name)?.cpuMs ?? Number.NaN) * 1_000) / checks;
    return figure(`cpu-${name}`, `  (the ${name} name server, not of the system)`, micros, 'µs');
  });
  return [...cpuPerCheck(usage, checks), ...nameServers];
}

function lookupFigures(
  before: QueryCounts,
  after: QueryCounts,
  clock: { readonly from: bigint; readonly to: bigint },
): Figure[] {
  const queries = after.queries - before.queries;
  const seconds = Number(clock.to - clock.from) / 1e9;
  return [
    figure('names', 'names looked up', queries / seconds, '/s'),
    figure(
      'names-missed',
      '  not in the cache of the resolver',
      ((after.misses - before.misses) / queries) * 100,
      '%',
    ),
  ];
}
