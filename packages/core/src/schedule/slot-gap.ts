import { phaseMs } from './phase.ts';

/** Planned slots of which no result was recorded, one after the other. */
export interface SlotGap {
  /** The last recorded slot before them, epoch milliseconds. */
  readonly after: number;
  readonly slots: number;
}

/**
 * What is missing between the newest slot that a region remembers and this one; null: nothing, or it cannot be told. Both
 * must be slots of the present interval: those of a former one, and of first checks, measure nothing.
 */
export function gapBefore(
  monitorId: string,
  intervalSeconds: number,
  recentSlots: readonly number[],
  slot: number,
): SlotGap | null {
  const intervalMs = intervalSeconds * 1_000;
  const phase = phaseMs(monitorId, intervalMs);
  const after = Math.max(...recentSlots);
  if (after % intervalMs !== phase || slot % intervalMs !== phase) return null;
  const slots = (slot - after) / intervalMs - 1;
  return slots > 0 ? { after, slots } : null;
}
