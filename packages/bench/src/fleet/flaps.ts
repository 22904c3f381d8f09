import type { Span } from '@tocsin/lab/slots';

/** A flapping target is down for this long in each period. */
export const FLAP = { periodMs: 600_000, downMs: 180_000 } as const;

/** When a target went down or up again; epoch milliseconds. */
export interface Transition {
  readonly at: number;
  readonly status: 'DOWN' | 'UP';
}

/** Whether a flapping target is down. The clock alone decides, so that every status change can be predicted. @param phaseMs when its periods start */
export function isDown(phaseMs: number, now: number): boolean {
  return sincePeriodStart(phaseMs, now) < FLAP.downMs;
}

/** All transitions of a flapping target within a span, in order. */
export function transitionsOf(phaseMs: number, { from, to }: Span): Transition[] {
  const transitions: Transition[] = [];
  for (let start = from - sincePeriodStart(phaseMs, from); start < to; start += FLAP.periodMs) {
    transitions.push({ at: start, status: 'DOWN' }, { at: start + FLAP.downMs, status: 'UP' });
  }
  return transitions.filter(({ at }) => at >= from && at < to);
}

function sincePeriodStart(phaseMs: number, now: number): number {
  return (((now - phaseMs) % FLAP.periodMs) + FLAP.periodMs) % FLAP.periodMs;
}
