import type { Metrics } from './metrics.ts';
import { registerReadGauge } from './reading.ts';

/** How wrong this process' clock is at least, milliseconds; at most one of the two is above 0. */
export interface ClockOffset {
  readonly aheadMs: number;
  readonly behindMs: number;
  /** What the other clock showed, epoch milliseconds. */
  readonly theirs: number;
}

/** Compares this process' clock with another one; of the time that the answer takes nobody knows when it was read. */
export async function measureClockOffset(readClock: () => Promise<number>): Promise<ClockOffset> {
  const askedAt = Date.now();
  const theirs = await readClock();
  return { aheadMs: Math.max(0, askedAt - theirs), behindMs: Math.max(0, theirs - Date.now()), theirs };
}

/** Shows how wrong this process' clock is. @param read null: unknown, and not shown */
export function registerClockOffset(
  registry: Metrics,
  read: () => Promise<Pick<ClockOffset, 'aheadMs' | 'behindMs'> | null>,
): void {
  registerReadGauge<never>(registry, {
    name: 'tocsin_clock_offset_seconds',
    help: "How far this process' clock is ahead of its stores' clocks, at least; negative: behind.",
    labelNames: [],
    samples: async () => {
      const offset = await read();
      return offset && [{ labels: {}, value: (offset.aheadMs - offset.behindMs) / 1_000 }];
    },
  });
}
