import type { SlotGap } from '@tocsin/core/schedule/slots';
import { type CheckerMetrics, MISS_REASONS, type MissReason } from '../metrics.ts';

/** Slots are remembered for at least this many monitors, and at most twice as many. */
const MIN_MONITORS = 200_000;
const MAX_SLOTS_PER_MONITOR = 20;

/** Counts planned slots of a region without a check. Remembers skipped slots until their gap shows, so that each counts once. */
export class MissedSlots {
  readonly #region: string;
  readonly #counter: CheckerMetrics['missed'];
  /** Skipped slots by monitor. There are two maps, because finding the oldest entry of one map is slow after many deletions. */
  #skipped = new Map<string, readonly number[]>();
  #skippedBefore = new Map<string, readonly number[]>();

  constructor(region: string, counter: CheckerMetrics['missed']) {
    this.#region = region;
    this.#counter = counter;
    // Prometheus would miss the first increase of a new series.
    for (const reason of MISS_REASONS) counter.inc({ region, reason }, 0);
  }

  skip(monitorId: string, slot: number, reason: Exclude<MissReason, 'no_job'>): void {
    this.#counter.inc({ region: this.#region, reason });
    this.#skipped.set(monitorId, [...this.#skippedOf(monitorId), slot].slice(-MAX_SLOTS_PER_MONITOR));
    if (this.#skipped.size < MIN_MONITORS) return;
    this.#skippedBefore = this.#skipped;
    this.#skipped = new Map();
  }

  /** Counts the unexplained slots of the gap before a recorded slot. */
  recorded(monitorId: string, slot: number, gap: SlotGap | null): void {
    const skipped = this.#skippedOf(monitorId);
    const later = skipped.filter((one) => one > slot);
    this.#skippedBefore.delete(monitorId);
    if (later.length > 0) this.#skipped.set(monitorId, later);
    else this.#skipped.delete(monitorId);
    if (gap === null) return;
    const known = new Set(skipped.filter((one) => one > gap.after && one < slot)).size;
    if (gap.slots > known) this.#counter.inc({ region: this.#region, reason: 'no_job' }, gap.slots - known);
  }

  #skippedOf(monitorId: string): readonly number[] {
    return this.#skipped.get(monitorId) ?? this.#skippedBefore.get(monitorId) ?? [];
  }
}
