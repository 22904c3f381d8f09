import { setTimeout as wait } from 'node:timers/promises';
import { UsageError } from '@tocsin/embedded/program/run-program';
import { insertMonitors, untilApplied } from '@tocsin/lab/monitors';
import { readRecordedChecks } from '../measure/events.ts';
import { histogramPercentile, subtractHistogram } from '../measure/histogram.ts';
import { HelperProcess } from '../processes/helper-process.ts';
import type { DistantProxyMessage } from '../processes/distant-proxy.ts';
import { figure, type Figure } from '../report/figure.ts';
import { measureUsage, openStage, type Stage } from '../stage.ts';
import { measureOutages, readLag } from './load.ts';
import type { Bench, Measurement } from './scenario.ts';
import { cpuPerCheck } from './usage-figures.ts';

const RATE = 1_000;
const INTERVAL = 5;
const OUTAGES = 200;
/** The checker loads every monitor in its first interval. A checker that cannot keep up is measured too. */
const WARM_UP_SECONDS = 15;
const STALLS = { share: 0.01, lastMs: 1_000 } as const;

interface Variant {
  readonly name: string;
  readonly roundTripMs: number;
  /** The stores that are far from the checker. */
  readonly far: readonly ('postgres' | 'redis')[];
  readonly stalls: typeof STALLS | null;
}

const BOTH = ['postgres', 'redis'] as const;
const VARIANTS: readonly Variant[] = [
  { name: 'near', roundTripMs: 0, far: [], stalls: null },
  ...[50, 150, 300].flatMap((roundTripMs): Variant[] => [
    { name: `postgres-${roundTripMs}`, roundTripMs, far: ['postgres'], stalls: null },
    { name: `redis-${roundTripMs}`, roundTripMs, far: ['redis'], stalls: null },
    { name: `both-${roundTripMs}`, roundTripMs, far: BOTH, stalls: null },
  ]),
  { name: 'stalls-150', roundTripMs: 150, far: BOTH, stalls: STALLS },
];

/** A checker far from Postgres, Redis, or both, while the other services are near: each distance with its own checker. */
export async function runDistance(bench: Bench): Promise<Measurement> {
  const { rate = RATE, interval = INTERVAL, seconds = 15 } = bench.options;
  const variants = selectVariants(bench);
  const stage = await openStage(bench);
  const { system, targetUrl, receiver } = stage;
  await Promise.all(['api', 'notifier'].map((name) => stage.startService(name)));
  const monitors = rate * interval;
  const outages = Math.min(OUTAGES, Math.floor(monitors / 10));
  const url = (number: number): string => `${targetUrl}/${number < outages ? 'f' : 'm'}/${number}`;
  const ids = await insertMonitors(system, { count: monitors, intervalSeconds: interval, url });
  await system.createChannel(receiver.url('/hook'), ids.slice(0, outages));
  await untilApplied(system);
  const figures: Figure[] = [];
  for (const one of variants) {
    const env = await openDistance(bench, stage, one);
    await stage.startService('checker', env);
    await wait(WARM_UP_SECONDS * 1_000);
    bench.say(`Measuring "${one.name}" for ${seconds} s …`);
    const measured = await measureVariant(stage, { ids, outages, interval, seconds });
    figures.push(
      ...measured.map(({ key, label, value, unit }) =>
        figure(`${one.name}-${key}`, `${one.name}: ${label}`, value, unit),
      ),
    );
    await stage.stopServices('checker');
  }
  return { settings: { rate, interval, seconds, outages }, figures };
}

function selectVariants({ options: { variants } }: Bench): readonly Variant[] {
  if (variants === undefined) return VARIANTS;
  return variants.split(',').map((wanted) => {
    const variant = VARIANTS.find(({ name }) => name === wanted);
    if (variant !== undefined) return variant;
    const known = VARIANTS.map(({ name }) => name).join(', ');
    throw new UsageError(`Unknown variant "${wanted}". The variants are ${known}`);
  });
}

/** The settings of a checker that reaches these stores through proxies. */
async function openDistance(
  { teardown }: Bench,
  { system }: Stage,
  { far, roundTripMs, stalls }: Variant,
): Promise<Record<string, string>> {
  const through = async (url: string): Promise<string> => {
    const starting = HelperProcess.start<DistantProxyMessage>('distant-proxy');
    const proxy = await teardown.start(starting, (one) => one.stop());
    return proxy.request<string>({ url, roundTripMs, stalls });
  };
  return {
    ...(far.includes('postgres') && { DATABASE_URL: await through(system.databaseUrl) }),
    ...(far.includes('redis') && { QUEUE_URL: await through(system.queueUrl) }),
  };
}

interface VariantPlan {
  readonly ids: readonly string[];
  readonly outages: number;
  readonly interval: number;
  readonly seconds: number;
}

async function measureVariant(
  stage: Stage,
  { ids, outages, interval, seconds }: VariantPlan,
): Promise<Figure[]> {
  const lagBefore = await readLag(stage);
  const { span, usage } = await measureUsage(stage, () => wait(seconds * 1_000));
  const lag = subtractHistogram(await readLag(stage), lagBefore);
  const webhooks = await measureOutages(stage, interval, ids.slice(0, outages));
  // Now, since the results of the last slots are on their way for a while.
  const checks = await readRecordedChecks(stage.system.database.pool, ids, interval, span);
  const shown = new Set(['webhook-p50', 'webhook-p99', 'webhook-missing']);
  return [
    figure('done', 'checks recorded', checks.recorded / ((span.to - span.from) / 1_000), '/s'),
    figure('missed', 'slots without an event', checks.missed, ''),
    ...[50, 99].map((p) =>
      figure(`lag-p${p}`, `schedule lag p${p}`, histogramPercentile(lag, p) * 1_000, 'ms'),
    ),
    ...(['p50', 'p99'] as const).map((p) =>
      figure(`recorded-${p}`, `slot to recorded, without probe, ${p}`, checks.recordedAfterMs[p], 'ms'),
    ),
    ...webhooks.filter(({ key }) => shown.has(key)),
    ...cpuPerCheck(usage, checks.recorded).filter(({ key }) => key === 'cpu-checker'),
  ];
}
