import type { SlotGap } from '@tocsin/core/schedule/slots';
import { type CheckerMetrics, MISS_REASONS, type MissReason } from '../metrics.ts';

/** Slots are remembered for at least this many monitors, and at most twice as many. */
const MIN_MONITORS = 200_000;
const MAX_SLOTS_PER_MONITOR = 20;

/** Reasons that are known before the next result. */
export type SkipReason = Exclude<MissReason, 'no_job'>;

/** The agents of a region, if they probe instead of this process. */
export interface RegionAgents {
  /** When the first one was connected, epoch milliseconds. */
  readonly since: number;
  /** True while a connected agent may be gone, so that its probes and the next checks wait for it. */
  readonly hasSilent: () => boolean;
}

/** Counts planned slots of a region without a check. Remembers skipped slots until their gap shows, so that each counts once. */
export class MissedSlots {
  readonly #region: string;
  readonly #counter: CheckerMetrics['missed'];
  readonly #agents: RegionAgents | undefined;
  /** Skipped slots by monitor. There are two maps, because finding the oldest entry of one map is slow after many deletions. */
  #skipped = new Map<string, readonly number[]>();
  #skippedBefore = new Map<string, readonly number[]>();

  constructor(region: string, counter: CheckerMetrics['missed'], agents?: RegionAgents) {
    this.#region = region;
    this.#counter = counter;
    this.#agents = agents;
    // Prometheus would miss the first increase of a new series.
    for (const reason of MISS_REASONS) counter.inc({ region, reason }, 0);
  }

  skip(monitorId: string, slot: number, reason: SkipReason): void {
    const isWaiting = this.#isBeforeAgents(slot) || this.#agents?.hasSilent() === true;
    // A check overlaps an earlier one that waits for its agent.
    const isDisconnected = isWaiting && (reason === 'late' || reason === 'overlap');
    this.#counter.inc({ region: this.#region, reason: isDisconnected ? 'agent_disconnected' : reason });
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
    const firstMissed = gap.after + (slot - gap.after) / (gap.slots + 1);
    const reason = this.#isBeforeAgents(firstMissed) ? 'agent_disconnected' : 'no_job';
    if (gap.slots > known) this.#counter.inc({ region: this.#region, reason }, gap.slots - known);
  }

  #isBeforeAgents(slot: number): boolean {
    return slot < (this.#agents?.since ?? -Infinity);
  }

  #skippedOf(monitorId: string): readonly number[] {
    return this.#skipped.get(monitorId) ?? this.#skippedBefore.get(monitorId) ?? [];
  }
}
