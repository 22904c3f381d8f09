import { setTimeout as wait } from 'node:timers/promises';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { deleteMonitors } from '@tocsin/db/monitors/bulk-writes';
import { untilChecked, untilScheduled } from '@tocsin/lab/monitors';
import { readScaling, type AutoscalerName, type ScalingSpec } from '../autoscale/chart.ts';
import { CheckerPods } from '../autoscale/checker-pods.ts';
import { countTurns, runControlLoop, scaleDurations, type Change } from '../autoscale/control-loop.ts';
import { readSlots, type Slots } from '../measure/events.ts';
import { startPrometheus, type Prometheus } from '../processes/prometheus.ts';
import { figure, type Figure } from '../report/figure.ts';
import { formatNumber } from '../report/table.ts';
import { openStage, type Stage } from '../stage.ts';
import type { Bench, Measurement } from './scenario.ts';

const INTERVAL_SECONDS = 5;
const LOW_RATE = 200;
const DEFAULT_HIGH_RATE = 3_000;
/** Recording checks locks the same monitors, so a large transaction could wait for longer than a statement may take. */
const DELETED_AT_A_TIME = 50;
/** How long the phases last, in seconds. The last one is longer than the stabilization window, and the averages of Prometheus. */
const PHASES = { low: 150, high: 300, lowAgain: 480 };

/** The load rises and falls while Kubernetes' rules, applied to the chart's autoscaler, add and remove checkers. */
export async function runAutoscale(bench: Bench, name: AutoscalerName, cores: number): Promise<Measurement> {
  const { seconds = PHASES.high, rate: highRate = DEFAULT_HIGH_RATE } = bench.options;
  const pace = seconds / PHASES.high;
  const spec = await readScaling(name, cores);
  const stage = await openStage(bench);
  await Promise.all([stage.startService('api'), stage.startService('notifier')]);
  const pods = new CheckerPods(stage, spec.graceSeconds);
  pods.scaleTo(spec.minReplicas);
  await pods.settle();
  const prometheus = spec.query === null ? null : await scrapeCheckers(bench, stage, spec, pods, pace);
  const end = new AbortController();
  const changes: (Change & { readonly line: string })[] = [];
  const startedAt = Date.now();
  let rate = 0;
  const onChange = (change: Change): void => {
    const { at, cores: used, recommended, from, to } = change;
    const second = Math.round((at - startedAt) / 1_000);
    const metric = `${formatNumber(used)} cores, ${recommended} recommended`;
    const line = `${second} s: ${rate.toLocaleString('en-US')} checks per second, ${metric}: ${from} → ${to} checkers`;
    bench.say(line);
    changes.push({ ...change, line });
  };
  const loop = runControlLoop({ spec, pods, prometheus, pace, onChange, signal: end.signal });
  try {
    const phases = await Promise.race([
      runPhases(bench, stage, { highRate, pace }, (next) => (rate = next)),
      loop.then(() => Promise.reject(new Error('the control loop ended'))),
    ]);
    end.abort();
    await loop;
    await pods.settle();
    return {
      settings: { autoscaler: name, cores, rate: highRate, pace },
      figures: [
        ...scalingFigures(changes, phases, spec),
        figure('killed', 'checkers killed', pods.killed, ''),
        ...slotFigures(phases),
      ],
      notes: changes.map(({ line }) => `  ${line}`),
    };
  } finally {
    end.abort();
  }
}

type Phases = Awaited<ReturnType<typeof runPhases>>;

/** @returns the slots of the monitors of the low load in each phase, and of those of the higher load; times in epoch milliseconds */
async function runPhases(
  bench: Bench,
  stage: Stage,
  { highRate, pace }: { readonly highRate: number; readonly pace: number },
  onRate: (rate: number) => void,
) {
  const { system } = stage;
  const last = (phase: keyof typeof PHASES): Promise<void> => wait(PHASES[phase] * pace * 1_000);
  const slots = (ids: readonly string[], from: number, to: number): Promise<Slots> =>
    readSlots(system.database.pool, ids, INTERVAL_SECONDS, { from, to });
  const enter = (rate: number): number => {
    bench.say(`${rate.toLocaleString('en-US')} checks per second …`);
    onRate(rate);
    return Date.now();
  };
  const ids = await addMonitors(stage, LOW_RATE);
  await untilChecked(system);
  const startAt = enter(LOW_RATE);
  await last('low');
  const highAt = enter(highRate);
  const more = await addMonitors(stage, highRate - LOW_RATE);
  const addedAt = Date.now();
  await last('high');
  // Before their events are deleted with the monitors.
  const high = await slots(more, addedAt, Date.now());
  const lowAt = enter(LOW_RATE);
  await deleteAll(stage, more);
  await last('lowAgain');
  const endAt = Date.now();
  const low = await slots(ids, startAt, highAt);
  const lowMeanwhile = await slots(ids, highAt, lowAt);
  const lowAgain = await slots(ids, lowAt, endAt);
  return { highAt, lowAt, low, lowMeanwhile, high, lowAgain };
}

/** @returns the ids of the monitors, once they are scheduled */
async function addMonitors(stage: Stage, rate: number): Promise<string[]> {
  const ids = await stage.insertMonitors(rate * INTERVAL_SECONDS, INTERVAL_SECONDS);
  if (stage.redis !== null) await untilScheduled(stage.system, stage.redis);
  return ids;
}

async function deleteAll({ system: { context } }: Stage, ids: readonly string[]): Promise<void> {
  const actor = systemActor(context.accountId);
  for (let first = 0; first < ids.length; first += DELETED_AT_A_TIME)
    await deleteMonitors(context.db, actor, ids.slice(first, first + DELETED_AT_A_TIME));
}

function slotFigures({ low, lowMeanwhile, high, lowAgain }: Phases): Figure[] {
  const all = [low, lowMeanwhile, high, lowAgain];
  const sum = (key: 'planned' | 'missed' | 'repeated'): number =>
    all.reduce((total, one) => total + one[key], 0);
  return [
    figure('planned', 'checks planned', sum('planned'), ''),
    figure('missed', 'slots without an event', sum('missed'), ''),
    figure('repeated', 'slots with several events', sum('repeated'), ''),
    figure('late-low', 'slot to recorded, without probe, p99: low load', low.lateMs.p99, 'ms'),
    figure('late-high', '  high load', high.lateMs.p99, 'ms'),
    figure('late-max', '    maximum', high.lateMs.max, 'ms'),
    figure('late-low-again', '  low load again', lowAgain.lateMs.p99, 'ms'),
  ];
}

function scalingFigures(changes: readonly Change[], { highAt, lowAt }: Phases, spec: ScalingSpec): Figure[] {
  const settled = (from: number, to: number): number => {
    const at = changes.findLast((change) => change.at >= from && change.at < to)?.at;
    return at === undefined ? Number.NaN : (at - from) / 1_000;
  };
  return [
    figure('most', 'most checkers', Math.max(spec.minReplicas, ...changes.map(({ to }) => to)), ''),
    figure('least', 'checkers at the end', changes.at(-1)?.to ?? spec.minReplicas, ''),
    figure('turns', 'changes of direction, beyond up and down', countTurns(changes), ''),
    figure('settled-up', 'load raised to last checker added', settled(highAt, lowAt), 's'),
    figure('settled-down', 'load lowered to last checker removed', settled(lowAt, Infinity), 's'),
  ];
}

/** Prometheus scrapes the checkers as often as the chart says. Resolves when it has responded. */
async function scrapeCheckers(
  bench: Bench,
  stage: Stage,
  spec: ScalingSpec,
  pods: CheckerPods,
  pace: number,
): Promise<Prometheus> {
  const job = {
    job_name: 'checkers',
    scrape_interval: scaleDurations(spec.scrapeInterval, pace),
    file_sd_configs: [{ files: [pods.targetsFile] }],
  };
  return startPrometheus(bench, stage.system.folder, job, 'vector(1)');
}
