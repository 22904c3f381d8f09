import { setTimeout as wait } from 'node:timers/promises';
import type { WebhookPayload } from '@tocsin/contracts/deliveries/webhook';
import { createMonitors, insertMonitors, untilApplied, untilChecked } from '@tocsin/lab/monitors';
import { readEventTable, readRecordedChecks, type RecordedChecks } from '../measure/events.ts';
import {
  histogramPercentile,
  parseHistogram,
  subtractHistogram,
  type Histogram,
} from '../measure/histogram.ts';
import { webhookLagOf, type WebhookLag } from '../measure/webhook-lag.ts';
import type { FloorMessage, FloorReport } from '../processes/floor-client.ts';
import { HelperProcess } from '../processes/helper-process.ts';
import type { Flip, FlipReport } from '../processes/web-target.ts';
import { profileTop } from '../profile/profile-top.ts';
import { figure, type Figure } from '../report/figure.ts';
import { openStage, openWindow, type Stage, type StageOptions, type Window } from '../stage.ts';
import { withoutNulls } from './scale.ts';
import type { Bench, Measurement } from './scenario.ts';
import { cpuPerCheck, memoryFigures } from './usage-figures.ts';

/** Webhooks that are under way when the last target has recovered have arrived by then. */
const DRAIN_MS = 2_000;
const MAX_WARM_UP_SECONDS = 5;
/** The lag of a system that is not behind any more, in seconds. */
const SETTLED_LAG_P99 = 0.5;
const MAX_WARM_UP_ROUNDS = 6;
/** New monitors a second: their first checks are a load of their own, and should be at most half of the steady one. */
const MIN_PACE = 250;
/** Creating more by the API would take most of a run. */
const MAX_BY_API = 5_000;
/** Outages take a while: only for a run that is long enough. */
const MIN_SECONDS_WITH_OUTAGES = 10;
const OUTAGES_PER_SECOND = 20;
const MAX_FLOOR_SECONDS = 6;
const LAG = 'tocsin_check_schedule_lag_seconds';

/** The defaults of a load scenario. */
export interface LoadDefaults extends Required<StageOptions> {
  readonly rate: number;
  /** Default: 1. */
  readonly checkers?: number;
  /**
   * Whether monitors are inserted as if they were checked before: a load that takes nearly all of the machine leaves nothing to work
   * off the first checks of new ones with. Default: they are created by the API, up to some thousands.
   */
  readonly inserted?: boolean;
  /** Seconds between two checks of a monitor; default 5. */
  readonly interval?: number;
  /** Length of the measured window in seconds; default 30. */
  readonly seconds?: number;
  /** Whether targets never respond, so that each check lasts until its timeout. */
  readonly hanging?: true;
}

interface Load extends Required<StageOptions> {
  /** Checks per second that the schedules ask for. */
  readonly rate: number;
  /** Seconds. */
  readonly interval: number;
  readonly monitors: number;
  /** Length of the measured window. */
  readonly seconds: number;
  readonly checkers: number;
  /** Monitors whose target goes down and up again once. */
  readonly outages: number;
}

/** A steady load of scheduled checks, measured over a window, then outages under the same load, with the floor before and after. */
export async function runLoad(bench: Bench, defaults: LoadDefaults): Promise<Measurement> {
  const load = resolveLoad(bench, defaults);
  const stage = await openStage(bench, load);
  await stage.startAll(load.checkers);
  bench.say('Measuring the floor …');
  const floorBefore = await measureFloor(bench, stage, load);
  const ids = await prepare(bench, stage, load, defaults);
  bench.say(`Measuring for ${load.seconds} s …`);
  const reading = await measureWindow(stage, load, ids);
  if (load.outages > 0) bench.say(`Letting ${load.outages} targets fail and recover …`);
  const webhooks = await measureOutages(stage, load, ids.slice(0, load.outages));
  await stage.stopServices([...stage.services.keys()].filter((name) => name.startsWith('checker')));
  bench.say('Measuring the floor again …');
  const floorAfter = await measureFloor(bench, stage, load);
  if (bench.profile !== null) await stage.stopServices([bench.profile]);
  return {
    settings: { ...load },
    figures: loadFigures(load, reading, webhooks, [floorBefore, floorAfter]),
    ...(bench.profile !== null && { notes: await profileTop(stage.profileFolder, reading.window.clock) }),
  };
}

function resolveLoad({ options }: Bench, defaults: LoadDefaults): Load {
  const given = withoutNulls(options);
  const rate = given.rate ?? defaults.rate;
  const interval = given.interval ?? defaults.interval ?? 5;
  const monitors = given.monitors ?? rate * interval;
  const seconds = given.seconds ?? defaults.seconds ?? 30;
  // With long intervals outages would take too long.
  const hasOutages = interval <= 10 && seconds >= MIN_SECONDS_WITH_OUTAGES;
  return {
    rate: monitors / interval,
    interval,
    monitors,
    seconds,
    checkers: given.checkers ?? defaults.checkers ?? 1,
    protocol: given.protocol ?? defaults.protocol,
    queue: given.queue ?? defaults.queue,
    outages: hasOutages ? Math.min(200, Math.floor(monitors / 10)) : 0,
  };
}

async function prepare(
  bench: Bench,
  stage: Stage,
  load: Load,
  { hanging, inserted = load.monitors > MAX_BY_API }: LoadDefaults,
): Promise<string[]> {
  const { system, targetUrl, receiver } = stage;
  const path = (number: number): string => (hanging ? 'h' : number < load.outages ? 'f' : 'm');
  bench.say(`Creating ${load.monitors} monitors …`);
  const plan = {
    count: load.monitors,
    intervalSeconds: load.interval,
    url: (number: number) => `${targetUrl}/${path(number)}/${number}`,
  };
  const pace = Math.max(MIN_PACE, load.rate / 2);
  const ids = await (inserted ? insertMonitors(system, plan) : createMonitors(system, plan, pace));
  if (load.outages > 0) await system.createChannel(receiver.url('/hook'), ids.slice(0, load.outages));
  await untilApplied(system);
  await untilChecked(system);
  // Further rounds while checks lag behind their schedule; if they always do, that is measured.
  for (let round = 0; round < MAX_WARM_UP_ROUNDS; round += 1) {
    const before = await readLag(stage);
    await wait(Math.min(MAX_WARM_UP_SECONDS, load.seconds) * 1_000);
    const lag = subtractHistogram(await readLag(stage), before);
    if (histogramPercentile(lag, 99) <= SETTLED_LAG_P99) break;
  }
  return ids;
}

/** The schedule lag of all checkers, in seconds. */
async function readLag(stage: Stage): Promise<Histogram> {
  return parseHistogram(await Promise.all(stage.checkers().map((checker) => checker.metrics())), LAG);
}

/** The cost of a bare request to the target, at the rate of the load, in a process of its own. */
async function measureFloor(bench: Bench, stage: Stage, load: Load): Promise<FloorReport> {
  const seconds = Math.min(MAX_FLOOR_SECONDS, load.seconds);
  const starting = HelperProcess.start<FloorMessage>('floor-client');
  const client = await bench.teardown.start(starting, (one) => one.stop());
  try {
    return await client.ask<FloorReport>({
      url: `${stage.targetUrl}/m/0`,
      ca: stage.targetCa,
      rate: load.rate,
      seconds,
      warmUpSeconds: seconds / 2,
    });
  } finally {
    await client.stop();
  }
}

/** What was read at both ends of the measured window. */
interface WindowReading {
  readonly window: Window;
  readonly lag: Histogram;
  readonly checks: RecordedChecks;
  /** NaN without Redis. */
  readonly redisBytesPerMonitor: number;
  readonly postgresBytesPerCheck: number;
}

async function measureWindow(stage: Stage, load: Load, ids: readonly string[]): Promise<WindowReading> {
  const { pool } = stage.system.database;
  const redisBytes = await usedBytes(stage);
  const tableBefore = await readEventTable(pool);
  const lagBefore = await readLag(stage);
  const window = await openWindow(stage, load.seconds);
  const lag = subtractHistogram(await readLag(stage), lagBefore);
  const checks = await readRecordedChecks(pool, ids, load.interval, window.span);
  const tableAfter = await readEventTable(pool);
  return {
    window,
    lag,
    checks,
    redisBytesPerMonitor: redisBytes / load.monitors,
    postgresBytesPerCheck: (tableAfter.bytes - tableBefore.bytes) / (tableAfter.events - tableBefore.events),
  };
}

/** What Redis uses for its data, beyond what it used when it was started. */
async function usedBytes({ redis }: Stage): Promise<number> {
  const info = (await redis?.info('memory')) ?? '';
  const read = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1]);
  return read('used_memory') - read('used_memory_startup');
}

/** Under the same load, but after the window: the cost of deliveries is not the cost of a check. Null without outages. */
async function measureOutages(stage: Stage, load: Load, ids: readonly string[]): Promise<WebhookLag | null> {
  if (ids.length === 0) return null;
  const startsAt = Date.now();
  // Long enough for a check to see it.
  const downMs = load.interval * 1_500;
  const flips = ids.map((_, number): Flip => {
    const downAt = startsAt + (number / OUTAGES_PER_SECOND) * 1_000;
    return { downAt, upAt: downAt + downMs };
  });
  await stage.target.ask({ type: 'flips', flips });
  // Until a check has seen the last one recover.
  await wait((ids.length / OUTAGES_PER_SECOND) * 1_000 + 2 * downMs + DRAIN_MS);
  const reports = await stage.target.ask<FlipReport[]>({ type: 'report' });
  const arrivals = stage.receiver.received.map(({ at, body }) => ({
    ...(JSON.parse(body) as WebhookPayload),
    receivedAt: at.getTime(),
  }));
  return webhookLagOf(reports, ids, arrivals);
}

function loadFigures(
  load: Load,
  reading: WindowReading,
  webhooks: WebhookLag | null,
  floors: readonly FloorReport[],
): Figure[] {
  const { checks, window, lag } = reading;
  const seconds = (window.span.to - window.span.from) / 1_000;
  const cpu = cpuPerCheck(window.usage, checks.recorded);
  const checker = cpu.find(({ key }) => key === 'cpu-checker')?.value ?? Number.NaN;
  // The mean of before and after, per request that succeeded.
  const requests = floors.reduce((sum, { requests, failures }) => sum + requests - failures, 0);
  const floor = (floors.reduce((sum, { cpuMs }) => sum + cpuMs, 0) * 1_000) / requests;
  const lagMs = (percent: number): number => histogramPercentile(lag, percent) * 1_000;
  return [
    figure('offered', 'checks asked for', checks.expected / seconds, '/s'),
    figure('done', 'checks recorded', checks.recorded / seconds, '/s'),
    figure('missed', 'slots without an event', checks.missed, ''),
    figure('failed', 'checks that failed', checks.failed, ''),
    ...([50, 95, 99] as const).map((p) => figure(`lag-p${p}`, `schedule lag p${p}`, lagMs(p), 'ms')),
    ...(['p50', 'p99', 'max'] as const).map((p) =>
      figure(`recorded-${p}`, `slot to recorded, without probe, ${p}`, checks.recordedAfterMs[p], 'ms'),
    ),
    ...cpu,
    figure('floor', 'CPU of a bare request', floor, 'µs'),
    figure('checker-to-floor', 'checker ÷ bare request', checker / floor, '×'),
    ...memoryFigures(window.usage),
    ...(load.queue === 'redis'
      ? [figure('redis-bytes', 'Redis memory per monitor', reading.redisBytesPerMonitor, 'B')]
      : []),
    figure('postgres-bytes', 'Postgres bytes per check, with index', reading.postgresBytesPerCheck, 'B'),
    ...(webhooks === null ? [] : webhookFigures(webhooks)),
  ];
}

function webhookFigures({ sinceResponseMs, sinceStampMs, missing }: WebhookLag): Figure[] {
  return [
    figure('webhook-p50', "target's response to webhook p50", sinceResponseMs.p50, 'ms'),
    figure('webhook-p99', "target's response to webhook p99", sinceResponseMs.p99, 'ms'),
    figure('webhook-stamp-p99', 'recorded to webhook p99', sinceStampMs.p99, 'ms'),
    figure('webhook-count', 'webhooks measured', sinceResponseMs.count, ''),
    figure('webhook-missing', 'webhooks that did not arrive', missing, ''),
  ];
}
