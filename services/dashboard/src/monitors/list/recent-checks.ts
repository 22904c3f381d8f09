import { LIMITS } from '@tocsin/contracts/limits';
import type { Event, RecentChecks } from '@tocsin/contracts/monitors/events';
import { formatLatency } from '../../components/format.ts';
import type { Latencies } from './arrange-monitors.ts';

export type RecentCheck = RecentChecks['checks'][number];

/** So many of a monitor are kept and drawn. */
export const MOST_CHECKS = LIMITS.recentChecks.checks;

/**
 * The latest of both, oldest first, each once: the timestamps of a monitor's checks are unique.
 * @returns `known` itself where nothing is new
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
    .slice(-MOST_CHECKS);
}

/** As "29 of 30 checks passed". */
export function describePassed(checks: readonly RecentCheck[]): string {
  if (checks.length === 0) return 'No checks yet';
  const passed = checks.filter(({ status }) => status === 'UP').length;
  return `${passed} of ${checks.length} ${checks.length === 1 ? 'check' : 'checks'} passed`;
}

/** As "Latency 95 ms to 340 ms". */
export function describeLatencies(checks: readonly RecentCheck[]): string {
  const latencies = checks.filter(wasAnswered).map(({ latency }) => latency);
  if (latencies.length === 0) return 'No latency yet';
  const [lowest, highest] = [Math.min(...latencies), Math.max(...latencies)].map(formatLatency);
  return lowest === highest ? `Latency ${highest}` : `Latency ${lowest} to ${highest}`;
}

/** Milliseconds of the latest check; null where it was not answered, and without any. */
export function latestLatency(checks: readonly RecentCheck[]): number | null {
  const latest = checks.at(-1);
  return latest !== undefined && wasAnswered(latest) ? latest.latency : null;
}

/** A check that failed without an answer has a latency of 0. */
export function wasAnswered({ status, latency }: RecentCheck): boolean {
  return status === 'UP' || latency > 0;
}

const BAR_WIDTH = 3;
const BAR_STEP = 5;
const UP_HEIGHT = 16;
const NONE_HEIGHT = 3;

export const DRAWING = { width: MOST_CHECKS * BAR_STEP - (BAR_STEP - BAR_WIDTH), height: 22 } as const;

/** Paths of the bars by kind; empty where there are none. */
interface Bars {
  readonly up: string;
  /** Taller than the others: not told by colour alone. */
  readonly down: string;
  /** The places that no check takes yet. */
  readonly none: string;
}

/** One bar a check, the latest at the right. */
export function drawBars(checks: readonly RecentCheck[]): Bars {
  const bars = { up: '', down: '', none: '' };
  for (let slot = 0; slot < MOST_CHECKS; slot += 1) {
    const check = checks[slot - MOST_CHECKS + checks.length];
    if (check === undefined) bars.none += bar(slot, NONE_HEIGHT);
    else if (check.status === 'UP') bars.up += bar(slot, UP_HEIGHT);
    else bars.down += bar(slot, DRAWING.height);
  }
  return bars;
}

function bar(slot: number, height: number): string {
  return `M${slot * BAR_STEP} ${DRAWING.height - height}h${BAR_WIDTH}v${height}h-${BAR_WIDTH}z`;
}

/** A line through the latencies, from 0 at the bottom to the highest at the top; broken where a check was not answered. */
export function drawSparkline(checks: readonly RecentCheck[]): string {
  const highest = Math.max(1, ...checks.map(({ latency }) => latency));
  const step = DRAWING.width / (MOST_CHECKS - 1);
  let path = '';
  let isDrawing = false;
  for (const [index, check] of checks.entries()) {
    if (!wasAnswered(check)) {
      isDrawing = false;
      continue;
    }
    const x = round((index + MOST_CHECKS - checks.length) * step);
    const y = round(DRAWING.height - 1 - (check.latency / highest) * (DRAWING.height - 2));
    // A length of almost nothing: with round ends a lonely check is a dot.
    path += isDrawing ? `L${x} ${y}` : `M${x} ${y}h.01`;
    isDrawing = true;
  }
  return path;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** The latest latency of every monitor, whether on screen or not: one number each. */
export class LatestLatencies {
  readonly #known = new Map<string, number>();
  #published: Latencies = new Map();
  #isChanged = false;

  /** Takes what the live stream says. */
  add(events: readonly Event[]): void {
    for (const event of events) {
      if (event.url !== null || !wasAnswered(event)) continue;
      this.#known.set(event.monitorId, event.latency);
      this.#isChanged = true;
    }
  }

  /** Loads those of monitors of which the stream has said nothing yet. Ends at the first request that fails. */
  async load(
    monitorIds: readonly string[],
    load: (monitorIds: readonly string[]) => Promise<readonly RecentChecks[]>,
    signal: AbortSignal,
  ): Promise<void> {
    const most = LIMITS.recentChecks.monitors;
    const unknown = monitorIds.filter((id) => !this.#known.has(id));
    for (let from = 0; from < unknown.length && !signal.aborted; from += most) {
      for (const { monitorId, checks } of await load(unknown.slice(from, from + most))) {
        const latest = checks.findLast(wasAnswered);
        // A live check is later than any that is loaded.
        if (latest === undefined || this.#known.has(monitorId)) continue;
        this.#known.set(monitorId, latest.latency);
        this.#isChanged = true;
      }
    }
  }

  /** What is known now; the same object as long as nothing changes. */
  publish(): Latencies {
    if (this.#isChanged) this.#published = new Map(this.#known);
    this.#isChanged = false;
    return this.#published;
  }
}
