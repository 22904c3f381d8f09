import { setTimeout as wait } from 'node:timers/promises';
import type { Prometheus } from '../processes/prometheus.ts';
import type { ScalingSpec } from './chart.ts';
import type { CheckerPods } from './checker-pods.ts';
import {
  PERIODS,
  replicasForTotal,
  replicasForUsage,
  Stabilizer,
  type Periods,
  type PodUsage,
} from './horizontal-pod-autoscaler.ts';

/** A change of the number of checkers. */
export interface Change {
  /** Epoch milliseconds. */
  readonly at: number;
  /** The cores that all checkers use, as the metric says. */
  readonly cores: number;
  readonly recommended: number | null;
  readonly from: number;
  readonly to: number;
}

interface ControlLoopOptions {
  readonly spec: ScalingSpec;
  readonly pods: CheckerPods;
  readonly prometheus: Prometheus | null;
  /** Shortens every period, also those of the spec. */
  readonly pace: number;
  readonly onChange: (change: Change) => void;
  readonly signal: AbortSignal;
}

/** Scales checkers until the signal, as Kubernetes does. Samples CPU usage halfway between two decisions, as metrics-server is not in step. */
export async function runControlLoop(options: ControlLoopOptions): Promise<void> {
  const { spec, pods, pace, onChange, signal } = options;
  const periods = Object.fromEntries(
    Object.entries(PERIODS).map(([name, period]) => [name, period * pace]),
  ) as unknown as Periods;
  const scaleDownWindow = spec.scaleDownSeconds * 1_000 * pace;
  const stabilizer = new Stabilizer({ ...spec, scaleDownWindow }, periods);
  while (!signal.aborted) {
    await pause(periods.sync / 2, signal);
    const usages = pods.sampleUsage();
    await pause(periods.sync / 2, signal);
    const from = pods.pods.length;
    const { cores, recommended } = await measure(options, usages, periods);
    const at = Date.now();
    const to = stabilizer.decide(at, from, recommended);
    if (to === from || signal.aborted) continue;
    pods.scaleTo(to);
    onChange({ at, cores, recommended, from, to });
  }
}

async function measure(
  { spec, pods: { pods }, prometheus, pace }: ControlLoopOptions,
  usages: ReadonlyMap<string, PodUsage>,
  periods: Periods,
): Promise<Pick<Change, 'cores' | 'recommended'>> {
  if (spec.query === null || prometheus === null) {
    const cores = [...usages.values()].reduce((sum, usage) => sum + usage.cores, 0);
    return { cores, recommended: replicasForUsage(pods, usages, spec.target, { now: Date.now(), periods }) };
  }
  const cores = await prometheus.query(scaleDurations(spec.query, pace));
  const recommended = Number.isNaN(cores) ? null : replicasForTotal(cores, spec.target, pods.length);
  return { cores, recommended };
}

/** Shortens the ranges of a query, such as `[2m]`, or a duration. */
export function scaleDurations(text: string, pace: number): string {
  return text.replace(/\b(\d+)([sm])\b/g, (_all, count, unit) => {
    const seconds = Number(count) * (unit === 'm' ? 60 : 1);
    return `${Math.round(seconds * pace * 1_000)}ms`;
  });
}

/** How often the number of checkers changed its direction, beyond up once and down once. */
export function countTurns(changes: readonly Pick<Change, 'from' | 'to'>[]): number {
  const directions = changes.map(({ from, to }) => Math.sign(to - from));
  const runs = directions.filter((direction, index) => direction !== directions[index - 1]);
  return Math.max(0, runs.length - 2);
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await wait(ms, undefined, { signal }).catch(() => undefined);
}
