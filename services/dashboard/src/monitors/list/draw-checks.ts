import { MOST_CHECKS, wasAnswered, type RecentCheck } from './recent-checks.ts';

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
