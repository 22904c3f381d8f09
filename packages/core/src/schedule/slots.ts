/** Offsets are one more than a multiple of this. Monitors with the same interval and offset form a wave (ADR 11). */
export const OFFSET_STEP_MS = 50;

/** A scheduled check may start up to one interval plus this after its slot. After that, the slot is a gap (docs/concepts/slots.md). */
export const GRACE_MS = 15_000;

/** A check that runs later than this counts as a gap, so that the counts of an hour become final. */
export const MAX_LATENESS_MS = 15 * 60_000;

/** Maximum difference between the clocks of a process and the stores. Less than the grace period, which absorbs smaller differences. */
export const MAX_CLOCK_OFFSET_MS = 10_000;

/** Returns the offset (ms) of a monitor's checks. Derived from its id, it survives a rebuild. Never 0, which the job store reads as no offset. */
export function slotOffsetMs(monitorId: string, intervalMs: number): number {
  const offsets = Math.floor(intervalMs / OFFSET_STEP_MS);
  // The offset is a fraction of the interval. A remainder could be the same for a minute and an hour, and would then hide a change of the interval.
  return 1 + Math.floor((hash(monitorId) / 2 ** 32) * offsets) * OFFSET_STEP_MS;
}

/** FNV-1a with a final avalanche, so that ids created in the same millisecond still spread. */
function hash(text: string): number {
  let value = 0x81_1c_9d_c5;
  for (let index = 0; index < text.length; index += 1) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01_00_01_93);
  }
  value = Math.imul(value ^ (value >>> 16), 0x85_eb_ca_6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2_b2_ae_35);
  return (value ^ (value >>> 16)) >>> 0;
}

/** Monitors of a region that one repeating job checks, because they have the same interval and offset (ADR 11). */
export interface Wave {
  readonly intervalSeconds: number;
  readonly offsetMs: number;
}

export function waveOf(monitorId: string, intervalSeconds: number): Wave {
  return { intervalSeconds, offsetMs: slotOffsetMs(monitorId, intervalSeconds * 1_000) };
}

/** Returns the name of the wave's job scheduler. Ids must not contain `:`. */
export function waveId(wave: Wave): string {
  return `wave-${wave.intervalSeconds}-${wave.offsetMs}`;
}

/** Parses the name of a wave's job scheduler. Null for any other name. */
export function parseWaveId(id: string): Wave | null {
  const match = /^wave-([1-9]\d{0,5})-([1-9]\d{0,7})$/.exec(id);
  if (!match) return null;
  const wave = { intervalSeconds: Number(match[1]), offsetMs: Number(match[2]) };
  return wave.offsetMs < wave.intervalSeconds * 1_000 ? wave : null;
}

/** Reason for a check outside the planned slots: a new monitor, a failing region, or a region that is connected again. */
export type ExtraCheckReason = 'first' | 'retry' | 'recheck';

/** Returns the job id of an extra check at `slot` (epoch milliseconds). Job ids must not contain `:`. */
export function extraCheckJobId(reason: ExtraCheckReason, monitorId: string, slot: number): string {
  return `${reason}-${monitorId}-${slot}`;
}

/**
 * Returns the slot (epoch milliseconds) from a job id, which is `repeat:<scheduler>:<millis>` or the id of an extra check. Null for other
 * ids.
 */
export function slotOfJob(jobId: string): number | null {
  const match = /^(?:repeat:.+:|(?:first|retry|recheck)-.+-)(\d{1,15})$/.exec(jobId);
  return match ? Number(match[1]) : null;
}

/** A planned slot without a check counts as missed. */
export function isPlannedSlot(jobId: string): boolean {
  return jobId.startsWith('repeat:');
}

export function isRetry(jobId: string): boolean {
  return jobId.startsWith('retry-');
}

/** Returns the first planned slot after a moment, in epoch milliseconds. */
export function nextSlot(monitorId: string, intervalSeconds: number, after: number): number {
  const intervalMs = intervalSeconds * 1_000;
  const sinceSlot = (after - slotOffsetMs(monitorId, intervalMs)) % intervalMs;
  return after - sinceSlot + intervalMs;
}

export interface CheckPlan {
  readonly monitorId: string;
  readonly intervalSeconds: number;
  /** Null without retries. */
  readonly retryIntervalSeconds: number | null;
}

/**
 * Returns when to retry a failed check (epoch ms), or null if the next planned slot is no later. Retries are whole retry intervals after a
 * planned slot, so that repeated failures agree on one. A retry whose time has passed is due at once.
 */
export function retrySlot(plan: CheckPlan, startedAt: number, now: number): number | null {
  const { monitorId, intervalSeconds, retryIntervalSeconds } = plan;
  if (retryIntervalSeconds === null) return null;
  const retryMs = retryIntervalSeconds * 1_000;
  const next = nextSlot(monitorId, intervalSeconds, startedAt);
  const planned = next - intervalSeconds * 1_000;
  const last = startedAt - ((startedAt - planned) % retryMs);
  const slot = last + retryMs * Math.max(1, Math.floor((now - last) / retryMs));
  return Math.max(slot, now) < next ? slot : null;
}

/** A retry slot is a multiple of the retry interval after a planned slot. */
function isRetrySlot({ monitorId, intervalSeconds, retryIntervalSeconds }: CheckPlan, slot: number): boolean {
  if (retryIntervalSeconds === null) return false;
  const untilNext = nextSlot(monitorId, intervalSeconds, slot) - slot;
  const sincePlanned = intervalSeconds * 1_000 - untilNext;
  return sincePlanned > 0 && sincePlanned % (retryIntervalSeconds * 1_000) === 0;
}

/** True if a check is so late that it need not run, because the next one is due anyway. Times in epoch milliseconds. */
export function isTooLate(slot: number, intervalSeconds: number, now: number): boolean {
  return now - slot > intervalSeconds * 1_000 + GRACE_MS;
}

/** True if checks of the same monitor may overlap. They then need a lock across processes. */
export function mayOverlap(intervalSeconds: number, timeoutSeconds: number): boolean {
  return timeoutSeconds >= intervalSeconds / 2;
}

/** Consecutive planned slots without a recorded result. */
export interface SlotGap {
  /** Last recorded slot before the gap, epoch milliseconds. */
  readonly after: number;
  readonly slots: number;
}

/** Returns the gap since the newest planned slot that the region remembers. Null without a gap, or if a slot has another interval. */
export function gapBefore(plan: CheckPlan, recentSlots: readonly number[], slot: number): SlotGap | null {
  const intervalMs = plan.intervalSeconds * 1_000;
  const offset = slotOffsetMs(plan.monitorId, intervalMs);
  const after = Math.max(...recentSlots.filter((recent) => !isRetrySlot(plan, recent)));
  if (after % intervalMs !== offset || slot % intervalMs !== offset) return null;
  const slots = (slot - after) / intervalMs - 1;
  return slots > 0 ? { after, slots } : null;
}
