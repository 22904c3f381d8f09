import { setTimeout as wait } from 'node:timers/promises';
import { lagFigures, measureChecks, readLag, type CheckWindow } from '../measure/checks.ts';
import { bareChecks, withFloor, type Floor } from '../measure/floor.ts';
import { histogramPercentile, subtractHistogram } from '../measure/histogram.ts';
import { distributionOf } from '../measure/percentiles.ts';
import { cpuPerCheck, memoryFigures } from '../measure/usage.ts';
import type { Flip, FlipReport, WebhookArrival } from '../processes/target.ts';
import { atMost, figure, type Figure } from '../report/figure.ts';
import { openStage, type Stage } from '../stage.ts';
import type { Bench, Measurement } from './scenario.ts';

/** Webhooks that were under way when the last target recovered have arrived after this time. */
const DRAIN_MS = 2_000;
const MAX_WARM_UP_SECONDS = 5;
/** A system with at most this lag has caught up. Seconds. */
const SETTLED_LAG_P99 = 0.5;
const MAX_WARM_UP_ROUNDS = 6;
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
    return { window, webhooks, bytesPerMonitor: redisBytes / load.monitors };
  });
  const { window, webhooks, bytesPerMonitor } = result;
  const { maximums = {} } = plan;
  const figures = [...loadFigures(load, window, floor, bytesPerMonitor), ...webhooks].map(
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
  // A system that always lags is measured, too.
  for (let round = 0; round < MAX_WARM_UP_ROUNDS; round += 1) {
    const before = await readLag(stage);
    await wait(Math.min(MAX_WARM_UP_SECONDS, load.seconds) * 1_000);
    const lag = subtractHistogram(await readLag(stage), before);
    if (histogramPercentile(lag, 99) <= SETTLED_LAG_P99) break;
  }
  return ids;
}

/** Returns the bytes of Redis beyond those at its start; NaN without Redis. */
async function usedBytes({ redis }: Stage): Promise<number> {
  const info = (await redis?.info('memory')) ?? '';
  const read = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1]);
  return read('used_memory') - read('used_memory_startup');
}

/** Lets targets fail and recover after the window, because the cost of deliveries is not the cost of a check. */
async function measureOutages(
  { say }: Bench,
  { target, receiver }: Stage,
  { interval }: Load,
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
  return webhookFigures(reports, ids, await receiver.process.request<WebhookArrival[]>({ type: 'take' }));
}

/**
 * Measures the time from the first responses of each target to the first webhooks about them.
 * @param ids of the monitors, in the order of the reports
 */
function webhookFigures(
  reports: readonly FlipReport[],
  ids: readonly string[],
  arrivals: readonly WebhookArrival[],
): Figure[] {
  const responded = reports.flatMap(({ failedAt, recoveredAt }, number) => [
    { monitorId: ids[number], event: 'monitor.down', respondedAt: failedAt },
    { monitorId: ids[number], event: 'monitor.up', respondedAt: recoveredAt },
  ]);
  const sinceResponse: number[] = [];
  let missing = 0;
  for (const { monitorId, event, respondedAt } of responded) {
    if (respondedAt === null) continue;
    const arrival = arrivals.find((one) => one.monitorId === monitorId && one.event === event);
    if (arrival === undefined) missing += 1;
    else sinceResponse.push(arrival.receivedAt - respondedAt);
  }
  const { count, p50, p99 } = distributionOf(sinceResponse);
  return [
    figure('webhook-p50', "target's response to webhook p50", p50, 'ms'),
    figure('webhook-p99', "target's response to webhook p99", p99, 'ms'),
    figure('webhook-count', 'webhooks measured', count, ''),
    figure('webhook-missing', 'webhooks that did not arrive', missing, ''),
  ];
}

function loadFigures(
  { rate }: Load,
  { checks, span, usage, lag, bytesPerCheck }: CheckWindow,
  floor: Floor,
  bytesPerMonitor: number,
): Figure[] {
  const seconds = (span.to - span.from) / 1_000;
  const cpu = cpuPerCheck(usage, checks.recorded);
  const microsOf = (key: string): number => cpu.find((one) => one.key === key)?.value ?? Number.NaN;
  return [
    figure('offered', 'checks planned', checks.expected / seconds, '/s'),
    figure('done', 'checks recorded', checks.recorded / seconds, '/s', { atLeast: rate * 0.99 }),
    figure('missed', 'slots without an event', checks.missed, '', { atMost: 0 }),
    figure('failed', 'checks that failed', checks.failed, ''),
    ...lagFigures(lag, 1_000),
    ...(['p50', 'p99', 'max'] as const).map((p) =>
      figure(`recorded-${p}`, `slot to recorded, without probe, ${p}`, checks.recordedAfterMs[p], 'ms'),
    ),
    ...cpu,
    figure('floor', 'CPU of a bare request', floor.cpu, 'µs'),
    figure('cpu-to-floor', 'checker and stores ÷ bare request', microsOf('cpu') / floor.cpu, '×'),
    figure('checker-to-floor', 'checker ÷ bare request', microsOf('cpu-checker') / floor.cpu, '×'),
    ...memoryFigures(usage),
    ...(Number.isNaN(bytesPerMonitor)
      ? []
      : [figure('redis-bytes', 'Redis memory per monitor', bytesPerMonitor, 'B')]),
    figure('postgres-bytes', 'Postgres bytes per check, with index', bytesPerCheck, 'B'),
  ];
}
