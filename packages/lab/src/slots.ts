import { phaseMs } from '@tocsin/core/schedule/slots';

/** A span in epoch milliseconds. It includes `from` and excludes `to`. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Counts the planned times of these monitors within a span. */
export function countSlots(monitorIds: Iterable<string>, intervalMs: number, span: Span): number {
  let count = 0;
  for (const id of monitorIds) {
    const phase = phaseMs(id, intervalMs);
    count += slotsBefore(span.to, phase, intervalMs) - slotsBefore(span.from, phase, intervalMs);
  }
  return count;
}

function slotsBefore(time: number, phase: number, intervalMs: number): number {
  return Math.ceil((time - phase) / intervalMs);
}
