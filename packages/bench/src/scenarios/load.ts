import { setTimeout as wait } from 'node:timers/promises';
import { webhookPayloadSchema } from '@tocsin/contracts/deliveries/webhook';
import { createMonitors, insertMonitors, untilApplied, untilChecked } from '@tocsin/lab/monitors';
import { readEventTable, readRecordedChecks } from '../measure/events.ts';
import {
  histogramPercentile,
  parseHistogram,
  subtractHistogram,
  type Histogram,
} from '../measure/histogram.ts';
import { webhookFigures } from '../measure/webhook-lag.ts';
import type { FloorMessage, FloorReport } from '../processes/floor-client.ts';
import { HelperProcess } from '../processes/helper-process.ts';
import type { Flip, FlipReport } from '../processes/web-target.ts';
import { figure, type Figure } from '../report/figure.ts';
import { openStage, measureUsage, type Stage } from '../stage.ts';
import type { Bench, Measurement } from './scenario.ts';
import { cpuPerCheck, memoryFigures } from './usage-figures.ts';

/** Webhooks that were under way when the last target recovered have arrived by then. */
const DRAIN_MS = 2_000;
const MAX_WARM_UP_SECONDS = 5;
/** The lag of a system that has caught up, in seconds. */
const SETTLED_LAG_P99 = 0.5;
const MAX_WARM_UP_ROUNDS = 6;
/** New monitors per second. Their first checks are an extra load, which should be at most half of the steady load. */
const MIN_PACE = 250;
/** Creating more through the API would take most of a run. */
const MAX_BY_API = 5_000;
/** Outages take a while, so only runs that are long enough and have short intervals include them. */
const MIN_SECONDS_WITH_OUTAGES = 10;
const MAX_INTERVAL_WITH_OUTAGES = 10;
const MAX_OUTAGES = 200;
const OUTAGES_PER_SECOND = 20;
const MAX_FLOOR_SECONDS = 6;
const LAG = 'tocsin_check_schedule_lag_seconds';

/** A load scenario: its values of the options, and its kind of monitors. */
export interface LoadPlan extends Omit<Bench['options'], 'rate'> {
  /** Planned checks per second. */
  readonly rate: number;
  /**
   * Whether monitors are inserted as if they had been checked before. A load that uses nearly the whole machine leaves no capacity for
   * the first checks of new monitors. By default, up to a few thousand monitors are created through the API.
   */
  readonly inserted?: boolean;
  /** Whether targets never respond, so that each check lasts until its timeout. */
  readonly hanging?: true;
}

type Load = ReturnType<typeof resolveLoad>;

/** A steady load of scheduled checks, measured over a window, then outages under the same load, with the floor before and after. */
export async function runLoad(bench: Bench, plan: LoadPlan): Promise<Measurement> {
  const load = resolveLoad(bench, plan);
  const stage = await openStage(bench, load);
  await stage.startAll(load.checkers);
  bench.say('Measuring the floor …');
  const floors = [await measureFloor(bench, stage, load)];
  const ids = await prepare(bench, stage, load, plan);
  bench.say(`Measuring for ${load.seconds} s …`);
  const reading = await measureWindow(stage, load, ids);
  if (load.outages > 0) bench.say(`Letting ${load.outages} targets fail and recover …`);
  const webhooks = await measureOutages(stage, load.interval, ids.slice(0, load.outages));
  await stage.stopServices('checker');
  bench.say('Measuring the floor again …');
  floors.push(await measureFloor(bench, stage, load));
  return {
    settings: load,
    figures: [...loadFigures(reading, floors), ...webhooks],
    ...(await stage.profileNotes(reading.clock)),
  };
}

function resolveLoad({ options }: Bench, plan: LoadPlan) {
  const given = { ...plan, ...options };
  const { rate, interval = 5, seconds = 30, checkers = 1, protocol = 'http', queue = 'redis' } = given;
  const monitors = options.monitors ?? rate * interval;
  const hasOutages = interval <= MAX_INTERVAL_WITH_OUTAGES && seconds >= MIN_SECONDS_WITH_OUTAGES;
  /** Monitors whose target goes down and up again once. */
  const outages = hasOutages ? Math.min(MAX_OUTAGES, Math.floor(monitors / 10)) : 0;
  return { rate: monitors / interval, interval, monitors, seconds, checkers, protocol, queue, outages };
}

async function prepare(
  bench: Bench,
  stage: Stage,
  load: Load,
  { hanging, inserted = load.monitors > MAX_BY_API }: LoadPlan,
): Promise<string[]> {
  const { system, targetUrl, receiver } = stage;
  const path = (number: number): string => (hanging ? 'h' : number < load.outages ? 'f' : 'm');
  bench.say(`Creating ${load.monitors} monitors …`);
  const monitors = {
    count: load.monitors,
    intervalSeconds: load.interval,
    url: (number: number) => `${targetUrl}/${path(number)}/${number}`,
  };
  const pace = Math.max(MIN_PACE, load.rate / 2);
  const ids = await (inserted ? insertMonitors(system, monitors) : createMonitors(system, monitors, pace));
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
export async function readLag(stage: Stage): Promise<Histogram> {
  return parseHistogram(await Promise.all(stage.running('checker').map((one) => one.metrics())), LAG);
}

/** The cost of a bare request to the target, at the rate of the load, in a process of its own. */
export async function measureFloor(
  { teardown }: Bench,
  stage: Stage,
  load: Pick<Load, 'rate' | 'seconds'>,
): Promise<FloorReport> {
  const seconds = Math.min(MAX_FLOOR_SECONDS, load.seconds);
  const starting = HelperProcess.start<FloorMessage>('floor-client');
  const client = await teardown.start(starting, (one) => one.stop());
  const plan = { url: `${stage.targetUrl}/m/0`, ca: stage.targetCa, rate: load.rate };
  const report = await client.request<FloorReport>({ ...plan, seconds, warmUpSeconds: seconds / 2 });
  await client.stop();
  return report;
}

/** The mean CPU time of a request that succeeded, µs. */
export function floorPerRequest(floors: readonly FloorReport[]): number {
  const requests = floors.reduce((sum, { requests, failures }) => sum + requests - failures, 0);
  return (floors.reduce((sum, { cpuMs }) => sum + cpuMs, 0) * 1_000) / requests;
}

/** Reads storage and lag at both ends of the measured window. Storage in bytes; NaN without Redis. */
async function measureWindow(stage: Stage, load: Load, ids: readonly string[]) {
  const { pool } = stage.system.database;
  const redisBytes = await usedBytes(stage);
  const tableBefore = await readEventTable(pool);
  const lagBefore = await readLag(stage);
  const window = await measureUsage(stage, () => wait(load.seconds * 1_000));
  const lag = subtractHistogram(await readLag(stage), lagBefore);
  const checks = await readRecordedChecks(pool, ids, load.interval, window.span);
  const table = await readEventTable(pool);
  const bytesPerCheck = (table.bytes - tableBefore.bytes) / (table.events - tableBefore.events);
  return { ...window, lag, checks, bytesPerMonitor: redisBytes / load.monitors, bytesPerCheck };
}

/** The memory of Redis beyond that at its start, in bytes. */
async function usedBytes({ redis }: Stage): Promise<number> {
  const info = (await redis?.info('memory')) ?? '';
  const read = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1]);
  return read('used_memory') - read('used_memory_startup');
}

/** Under the same load, but after the window: the cost of deliveries is not the cost of a check. No figures without outages. */
export async function measureOutages(
  stage: Stage,
  intervalSeconds: number,
  ids: readonly string[],
): Promise<Figure[]> {
  if (ids.length === 0) return [];
  const startsAt = Date.now();
  // Long enough for a check to see it.
  const downMs = intervalSeconds * 1_500;
  const flips = ids.map((_, number): Flip => {
    const downAt = startsAt + (number / OUTAGES_PER_SECOND) * 1_000;
    return { downAt, upAt: downAt + downMs };
  });
  await stage.target.request({ type: 'flips', flips });
  // Until a check has seen the last one recover.
  await wait((ids.length / OUTAGES_PER_SECOND) * 1_000 + 2 * downMs + DRAIN_MS);
  const reports = await stage.target.request<FlipReport[]>({ type: 'report' });
  const arrivals = stage.receiver.received
    .filter(({ at }) => at.getTime() >= startsAt)
    .map(({ at, body }) => {
      const { monitorId, event, timestamp } = webhookPayloadSchema.parse(JSON.parse(body));
      return { monitorId, event, timestamp, receivedAt: at.getTime() };
    });
  return webhookFigures(reports, ids, arrivals);
}

function loadFigures(
  { checks, span, usage, lag, ...bytes }: Awaited<ReturnType<typeof measureWindow>>,
  floors: readonly FloorReport[],
): Figure[] {
  const seconds = (span.to - span.from) / 1_000;
  const cpu = cpuPerCheck(usage, checks.recorded);
  const microsOf = (key: string): number => cpu.find((one) => one.key === key)?.value ?? Number.NaN;
  const floor = floorPerRequest(floors);
  const lagMs = (percent: number): number => histogramPercentile(lag, percent) * 1_000;
  return [
    figure('offered', 'checks planned', checks.expected / seconds, '/s'),
    figure('done', 'checks recorded', checks.recorded / seconds, '/s'),
    figure('missed', 'slots without an event', checks.missed, ''),
    figure('failed', 'checks that failed', checks.failed, ''),
    ...[50, 95, 99].map((p) => figure(`lag-p${p}`, `schedule lag p${p}`, lagMs(p), 'ms')),
    ...(['p50', 'p99', 'max'] as const).map((p) =>
      figure(`recorded-${p}`, `slot to recorded, without probe, ${p}`, checks.recordedAfterMs[p], 'ms'),
    ),
    ...cpu,
    figure('floor', 'CPU of a bare request', floor, 'µs'),
    figure('cpu-to-floor', 'checker and stores ÷ bare request', microsOf('cpu') / floor, '×'),
    figure('checker-to-floor', 'checker ÷ bare request', microsOf('cpu-checker') / floor, '×'),
    ...memoryFigures(usage),
    ...(Number.isNaN(bytes.bytesPerMonitor)
      ? []
      : [figure('redis-bytes', 'Redis memory per monitor', bytes.bytesPerMonitor, 'B')]),
    figure('postgres-bytes', 'Postgres bytes per check, with index', bytes.bytesPerCheck, 'B'),
  ];
}
