import { slotOffsetMs } from '@tocsin/core/schedule/slots';

/** A span of time, epoch milliseconds: `from` included, `to` not. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** How many planned times these monitors have within a span. */
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
