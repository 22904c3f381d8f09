import { slotOffsetMs } from '@tocsin/core/schedule/slots';

/** A span in epoch milliseconds. It includes `from` and excludes `to`. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Counts the planned times of these monitors within a span. */
export function countSlots(monitorIds: Iterable<string>, intervalMs: number, span: Span): number {
  let count = 0;
  for (const id of monitorIds) {
    const offset = slotOffsetMs(id, intervalMs);
    count += slotsBefore(span.to, offset, intervalMs) - slotsBefore(span.from, offset, intervalMs);
  }
  return count;
}

function slotsBefore(time: number, offset: number, intervalMs: number): number {
  return Math.ceil((time - offset) / intervalMs);
}
