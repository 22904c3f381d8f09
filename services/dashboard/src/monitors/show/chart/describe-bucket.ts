import type { StatsWindow } from '@tocsin/contracts/monitors/stats';
import { formatUtcSpan } from '../../../components/format-time.ts';
import { bucketSeconds } from './plot-data.ts';

const RANGE = new Intl.DateTimeFormat(undefined, {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
});

/** When a bucket begins and ends, in the reader's zone. */
export function describeBucket(start: string, window: StatsWindow): string {
  return RANGE.formatRange(...endsOf(start, window));
}

export function describeBucketUtc(start: string, window: StatsWindow): string {
  return formatUtcSpan(...endsOf(start, window));
}

function endsOf(start: string, window: StatsWindow): [Date, Date] {
  const from = new Date(start);
  return [from, new Date(from.getTime() + bucketSeconds(window) * 1_000)];
}
