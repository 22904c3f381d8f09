import { setTimeout as wait } from 'node:timers/promises';
import { atMost, figure, type Figure } from '../report/figure.ts';
import type { Stage } from '../stage.ts';
import { readEventTable, readRecordedChecks, type RecordedChecks } from './events.ts';
import {
  histogramPercentile,
  parseHistogram,
  subtractHistogram,
  sumHistograms,
  type Histogram,
} from './histogram.ts';
import { measureUsage, sumUsage, type MeasuredWindow } from './usage.ts';

const LAG = 'tocsin_check_schedule_lag_seconds';

/** The checks of a system in one or several windows. */
export interface CheckWindow extends Pick<MeasuredWindow, 'span' | 'usage'> {
  /** In seconds. */
  readonly lag: Histogram;
  readonly checks: RecordedChecks;
  /** Bytes of the table of events, with its index. */
  readonly bytesPerCheck: number;
}

/** Reads the schedule lag since the start of the checkers, in seconds. */
export async function readLag(stage: Pick<Stage, 'running'>): Promise<Histogram> {
  return parseHistogram(await Promise.all(stage.running('checker').map((one) => one.metrics())), LAG);
}

export async function measureChecks(
  stage: Stage,
  monitorIds: readonly string[],
  intervalSeconds: number,
  seconds: number,
): Promise<CheckWindow> {
  const { pool } = stage.system.database;
  const tableBefore = await readEventTable(pool);
  const lagBefore = await readLag(stage);
  const { span, usage } = await measureUsage(stage, () => wait(seconds * 1_000));
  const lag = subtractHistogram(await readLag(stage), lagBefore);
  const checks = await readRecordedChecks(pool, monitorIds, intervalSeconds, span);
  const table = await readEventTable(pool);
  const bytesPerCheck = (table.bytes - tableBefore.bytes) / (table.events - tableBefore.events);
  return { span, usage, lag, checks, bytesPerCheck };
}

/** Adds windows of equal length up. Percentiles of the recording, and bytes, are those of the last one. */
export function sumWindows(windows: readonly CheckWindow[]): CheckWindow {
  const last = windows.at(-1);
  if (last === undefined) throw new TypeError('no windows');
  const checks = { ...last.checks, expected: 0, recorded: 0, failed: 0, missed: 0 };
  for (const window of windows)
    for (const name of ['expected', 'recorded', 'failed', 'missed'] as const)
      checks[name] += window.checks[name];
  const lag = sumHistograms(windows.map((window) => window.lag));
  return { ...last, checks, lag, usage: sumUsage(windows.map(({ usage }) => usage)) };
}

export function lagFigures(lag: Histogram, maxP99Ms?: number, prefix = ''): Figure[] {
  const ms = (percent: number): number => histogramPercentile(lag, percent) * 1_000;
  return [
    figure(`${prefix}lag-p50`, 'schedule lag p50', ms(50), 'ms'),
    figure(`${prefix}lag-p95`, 'schedule lag p95', ms(95), 'ms'),
    figure(`${prefix}lag-p99`, 'schedule lag p99', ms(99), 'ms', atMost(maxP99Ms)),
  ];
}

/** Measures two kinds of windows in turns, because the machine may drift. */
export async function measureInTurns<Kind extends string, Window>(
  [one, other]: readonly [Kind, Kind],
  measure: (kind: Kind) => Promise<Window>,
): Promise<Record<Kind, Window[]>> {
  const windows = { [one]: [], [other]: [] } as unknown as Record<Kind, Window[]>;
  for (const kind of [one, other, other, one]) windows[kind].push(await measure(kind));
  return windows;
}
