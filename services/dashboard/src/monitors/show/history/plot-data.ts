import type { MonitorStates, MonitorStats, StatePeriod } from '@tocsin/contracts/monitors/stats';
import { describeCause, formatCount, formatSpan } from '../../../components/format.ts';
import { barScale, PHASES } from '../phases.ts';

type Bucket = MonitorStats['series'][number];

/** How the plot shows the latency in a bucket. */
export type PlotView = 'percentiles' | 'phases';

/** Top of the latency axis in milliseconds, with room above the highest value. */
export function latencyTop(buckets: readonly Bucket[], view: PlotView): number {
  const highest = buckets.map(({ timings, latency }) =>
    view === 'percentiles'
      ? (latency?.p99 ?? 0)
      : PHASES.reduce((sum, { phase }) => sum + (timings?.[phase] ?? 0), 0),
  );
  return Math.max(10, Math.max(...highest) * 1.15);
}

/** Labels of the latency axis in milliseconds. */
export function latencyTicks(top: number): number[] {
  const step = barScale(top / 4);
  return Array.from({ length: Math.floor(top / step) + 1 }, (_, index) => index * step);
}

/** Failed checks mark at most this percentage of the plot, so that they do not cover the latency. */
const MAX_FAILED_PERCENT = 20;

/** Height of the mark for failed checks in percent of the plot. */
export function failedPercent({ checks, failures }: Pick<Bucket, 'checks' | 'failures'>): number {
  return checks === 0 ? 0 : (failures / checks) * MAX_FAILED_PERCENT;
}

/** Minimum width of outages and maintenance in pixels. Must match the style sheet. */
const MIN_WIDTH = 2;

/**
 * The index of the period drawn at a time, or -1. Outages and maintenance also match up to two pixels away.
 * @param pixelMs milliseconds per pixel
 */
export function stateAt(periods: readonly StatePeriod[], time: number, pixelMs: number): number {
  const isDrawnAt = ({ from, to }: StatePeriod): boolean => {
    const [start, end] = [Date.parse(from), Math.max(Date.parse(to), Date.parse(from) + MIN_WIDTH * pixelMs)];
    return time > start - MIN_WIDTH * pixelMs && time < end + MIN_WIDTH * pixelMs;
  };
  for (const wide of ['DOWN', 'MAINTENANCE'] as const) {
    const found = periods.findIndex((period) => period.status === wide && isDrawnAt(period));
    if (found !== -1) return found;
  }
  return periods.findIndex(({ from, to }) => time >= Date.parse(from) && time < Date.parse(to));
}

const STATE_LABELS = { UP: 'Up', DOWN: 'Down', MAINTENANCE: 'Maintenance', PENDING: 'Pending' } as const;

/** Describes the status and duration of a period in one line. */
export function describeState({ status, from, to, count, downSeconds }: StatePeriod): string {
  const seconds = (Date.parse(to) - Date.parse(from)) / 1_000;
  const span = formatSpan(seconds);
  const name = status === null ? 'No data' : STATE_LABELS[status];
  const text = seconds < 1 ? name : `${name} for ${span}`;
  if (status === null || count === 1) return text;
  const changes = formatCount(count - 1, 'change');
  return downSeconds >= 1
    ? `Down for ${formatSpan(downSeconds)} of ${span}, ${changes}`
    : `${text}, ${changes}`;
}

/** Describes for how long a monitor had no results since its creation. */
export function describeMeasured(
  states: Pick<MonitorStates, 'from' | 'to' | 'knownSeconds'>,
  createdAt: string,
): string {
  if (states.knownSeconds === 0) return 'Not measured';
  const since = Math.max(Date.parse(states.from), Date.parse(createdAt));
  const unknownSeconds = (Date.parse(states.to) - since) / 1_000 - states.knownSeconds;
  return unknownSeconds < 1 ? 'Measured throughout' : `Without results for ${formatSpan(unknownSeconds)}`;
}

/** The cause of an outage, or null for another status. */
export function stateCause({ status, cause, errorDetail }: StatePeriod): string | null {
  return status === 'DOWN' ? describeCause(cause, errorDetail) : null;
}
