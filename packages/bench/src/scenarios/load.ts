import { setTimeout as wait } from 'node:timers/promises';
import { lagFigures, measureChecks, untilSettled, type CheckWindow } from '../measure/checks.ts';
import { bareChecks, withFloor, type Floor } from '../measure/floor.ts';
import { distributionOf } from '../measure/percentiles.ts';
import { cpuPerCheck } from '../measure/usage.ts';
import type { Flip, FlipReport, WebhookArrival } from '../processes/target.ts';
import { atMost, figure, type Figure } from '../report/figure.ts';
import { openStage, type Stage } from '../stage.ts';
import type { Bench, Measurement } from './scenario.ts';

/** Webhooks that were under way when the last target recovered have arrived after this time. */
const DRAIN_MS = 2_000;
/** Outages take a while, so only long runs with short intervals include them. */
const MIN_SECONDS_WITH_OUTAGES = 10;
const MAX_INTERVAL_WITH_OUTAGES = 10;
const MAX_OUTAGES = 200;
const OUTAGES_PER_SECOND = 20;

/** A load scenario, with its values of the options. */
export interface LoadPlan extends Omit<Bench['options'], 'rate'> {
  /** Planned checks per second. */
  readonly rate: number;
  /** Upper limits of figures, by key. */
  readonly maximums?: Readonly<Record<string, number>>;
}

type Load = ReturnType<typeof resolveLoad>;

/** A steady load of scheduled checks, measured over a window, then outages under the same load. */
export async function runLoad(bench: Bench, plan: LoadPlan): Promise<Measurement> {
  const load = resolveLoad(bench, plan);
  const stage = await openStage(bench, load);
  await stage.startAll(load.checkers);
  const { result, floor } = await withFloor(bench, bareChecks(stage, load), async () => {
    const ids = await prepare(stage, load);
    const redisBytes = await usedBytes(stage);
    bench.say(`Measuring for ${load.seconds} s …`);
    const window = await measureChecks(stage, ids, load.interval, load.seconds);
    const webhooks = await measureOutages(bench, stage, load, ids.slice(0, load.outages));
    await stage.stopServices('checker');
    return { window, webhooks, redisBytes };
  });
  const { maximums = {} } = plan;
  const redis = figure('redis-bytes', 'Redis memory per monitor', result.redisBytes / load.monitors, 'B');
  const figures = [...loadFigures(load, result.window, floor), redis, ...result.webhooks].map(
    ({ key, label, value, unit, bar }) => figure(key, label, value, unit, atMost(maximums[key]) ?? bar),
  );
  return { settings: load, figures };
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

/** Creates the monitors, and waits until checks no longer lag behind their schedule. */
async function prepare(stage: Stage, load: Load): Promise<string[]> {
  const ids = await stage.checkMonitors(load.monitors, load.interval, load.outages);
  if (load.outages > 0) await stage.system.createChannel(stage.receiver.url, ids.slice(0, load.outages));
  await untilSettled(stage, load.seconds);
  return ids;
}

/** Returns the memory that Redis uses beyond an empty one, in bytes. NaN without Redis. */
async function usedBytes({ redis }: Stage): Promise<number> {
  const info = (await redis?.info('memory')) ?? '';
  const read = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1]);
  return read('used_memory') - read('used_memory_startup');
}

/** Lets targets fail and recover after the window, because the cost of deliveries is not the cost of a check. */
export async function measureOutages(
  { say }: Bench,
  { target, receiver }: Stage,
  { interval }: Pick<Load, 'interval'>,
  ids: readonly string[],
): Promise<Figure[]> {
  if (ids.length === 0) return [];
  say(`Letting ${ids.length} targets fail and recover …`);
  const startsAt = Date.now();
  // Long enough for a check to see it.
  const downMs = interval * 1_500;
  const flips = ids.map((_, number): Flip => {
    const downAt = startsAt + (number / OUTAGES_PER_SECOND) * 1_000;
    return { downAt, upAt: downAt + downMs };
  });
  await target.request({ type: 'flips', flips });
  // Until a check has seen the last one recover.
  await wait((ids.length / OUTAGES_PER_SECOND) * 1_000 + 2 * downMs + DRAIN_MS);
  const reports = await target.request<FlipReport[]>({ type: 'reports' });
  const arrivals = await receiver.process.request<WebhookArrival[]>({ type: 'take' });
  const responded = reports.flatMap(({ failedAt, recoveredAt }, number) => [
    { monitorId: ids[number], event: 'monitor.down', respondedAt: failedAt },
    { monitorId: ids[number], event: 'monitor.up', respondedAt: recoveredAt },
  ]);
  const sinceResponse = responded.flatMap(({ monitorId, event, respondedAt }) => {
    if (respondedAt === null) return [];
    const arrival = arrivals.find((one) => one.monitorId === monitorId && one.event === event);
    return [(arrival?.receivedAt ?? Number.NaN) - respondedAt];
  });
  const arrived = sinceResponse.filter((ms) => !Number.isNaN(ms));
  const { count, p50, p99 } = distributionOf(arrived);
  return [
    figure('webhook-p50', "target's response to webhook p50", p50, 'ms'),
    figure('webhook-p99', "target's response to webhook p99", p99, 'ms'),
    figure('webhook-count', 'webhooks measured', count, ''),
    figure('webhook-missing', 'webhooks that did not arrive', sinceResponse.length - count, ''),
  ];
}

function loadFigures({ rate }: Load, window: CheckWindow, floor: Floor): Figure[] {
  const { expected, recorded, missed, recordedMaxMs, seconds, usage, lag, bytesPerCheck } = window;
  const cpu = cpuPerCheck(usage, recorded);
  const microsOf = (key: string): number => cpu.find((one) => one.key === key)?.value ?? Number.NaN;
  return [
    figure('offered', 'checks planned', expected / seconds, '/s'),
    figure('done', 'checks recorded', recorded / seconds, '/s', { atLeast: rate * 0.99 }),
    figure('missed', 'slots without an event', missed, '', { atMost: 0 }),
    ...lagFigures(lag, 1_000),
    figure('recorded-max', 'slot to recorded, without probe, max', recordedMaxMs, 'ms'),
    ...cpu,
    figure('floor', 'CPU of a bare request', floor.cpu, 'µs'),
    figure('cpu-to-floor', 'checker and stores ÷ bare request', microsOf('cpu') / floor.cpu, '×'),
    figure('checker-to-floor', 'checker ÷ bare request', microsOf('cpu-checker') / floor.cpu, '×'),
    figure('postgres-bytes', 'Postgres bytes per check, with index', bytesPerCheck, 'B'),
  ];
}
