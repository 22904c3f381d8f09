import { LIMITS } from '@tocsin/contracts/limits';
import type { RecentChecks } from '@tocsin/contracts/monitors/events';
import { formatCount, formatLatency } from '../../components/format.ts';

export type RecentCheck = RecentChecks['checks'][number];

/** Number of checks that are kept and drawn for each monitor. */
const MAX_CHECKS = LIMITS.recentChecks.checks;

/**
 * Merges two lists by timestamp, which is unique for a monitor. Returns the latest checks, oldest first.
 * @returns `known` itself if nothing is new
 */
export function mergeChecks(
  known: readonly RecentCheck[],
  added: readonly RecentCheck[],
): readonly RecentCheck[] {
  const byTime = new Map(known.map((check) => [check.timestamp, check]));
  for (const check of added) if (!byTime.has(check.timestamp)) byTime.set(check.timestamp, check);
  if (byTime.size === known.length) return known;
  return [...byTime.values()]
    .sort((one, other) => (one.timestamp < other.timestamp ? -1 : 1))
    .slice(-MAX_CHECKS);
}

/** Formats as "26 of 28 checks passed, 2 inconclusive". */
export function describePassed(checks: readonly RecentCheck[]): string {
  if (checks.length === 0) return 'No checks yet';
  const counted = checks.filter(({ inconclusive }) => !inconclusive).length;
  const inconclusive = checks.length - counted;
  if (counted === 0) return formatCount(inconclusive, 'inconclusive check');
  const passed = checks.filter(({ status }) => status === 'UP').length;
  const result = `${passed} of ${formatCount(counted, 'check')} passed`;
  return inconclusive === 0 ? result : `${result}, ${inconclusive} inconclusive`;
}

/** Formats as "Latency from 95 ms to 340 ms". */
export function describeLatencies(checks: readonly RecentCheck[]): string {
  const latencies = checks.filter(hasResponse).map(({ latency }) => latency);
  if (latencies.length === 0) return 'No latency yet';
  const [lowest, highest] = [Math.min(...latencies), Math.max(...latencies)].map(formatLatency);
  return lowest === highest ? `Latency ${highest}` : `Latency from ${lowest} to ${highest}`;
}

/** Latency of the latest conclusive check in milliseconds, or null if there was no response. */
export function latestLatency(checks: readonly RecentCheck[]): number | null {
  const latest = checks.findLast(({ inconclusive }) => !inconclusive);
  return latest !== undefined && hasResponse(latest) ? latest.latency : null;
}

/** Checks without a response have a latency of 0. The latency of an inconclusive check is not the target's. */
function hasResponse({ status, inconclusive, latency }: RecentCheck): boolean {
  return status === 'UP' || (latency > 0 && !inconclusive);
}

const BAR_WIDTH = 3;
const BAR_STEP = 5;
const UP_HEIGHT = 16;
const NONE_HEIGHT = 3;
/** The dashes together are as high as the bar of a passed check. */
const DASH_HEIGHT = 4;
const DASH_TOPS = [6, 12, 18] as const;

export const DRAWING = { width: MAX_CHECKS * BAR_STEP - (BAR_STEP - BAR_WIDTH), height: 22 } as const;

/** SVG paths. */
interface Bars {
  readonly up: string;
  /** Taller than other bars, so that color is not the only sign. */
  readonly down: string;
  /** Dashed, so that color is not the only sign. */
  readonly inconclusive: string;
  /** Slots without a check. */
  readonly none: string;
}

/** Draws one bar for each check, latest on the right. */
export function drawBars(checks: readonly RecentCheck[]): Bars {
  const bars = { up: '', down: '', inconclusive: '', none: '' };
  for (let slot = 0; slot < MAX_CHECKS; slot += 1) {
    const check = checks[slot - MAX_CHECKS + checks.length];
    if (check === undefined) bars.none += bar(slot, NONE_HEIGHT);
    else if (check.inconclusive)
      for (const top of DASH_TOPS) bars.inconclusive += bar(slot, DASH_HEIGHT, top);
    else if (check.status === 'UP') bars.up += bar(slot, UP_HEIGHT);
    else bars.down += bar(slot, DRAWING.height);
  }
  return bars;
}

function bar(slot: number, height: number, top = DRAWING.height - height): string {
  return `M${slot * BAR_STEP} ${top}h${BAR_WIDTH}v${height}h-${BAR_WIDTH}z`;
}

/** Draws a line through the latencies, scaled to the highest. Checks without a response interrupt the line. */
export function drawSparkline(checks: readonly RecentCheck[]): string {
  const highest = Math.max(1, ...checks.filter(hasResponse).map(({ latency }) => latency));
  const step = DRAWING.width / (MAX_CHECKS - 1);
  let path = '';
  let isDrawing = false;
  for (const [index, check] of checks.entries()) {
    if (!hasResponse(check)) {
      isDrawing = false;
      continue;
    }
    const x = round((index + MAX_CHECKS - checks.length) * step);
    const y = round(DRAWING.height - 1 - (check.latency / highest) * (DRAWING.height - 2));
    // A minimal length with round caps draws a single check as a dot.
    path += isDrawing ? `L${x} ${y}` : `M${x} ${y}h.01`;
    isDrawing = true;
  }
  return path;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
