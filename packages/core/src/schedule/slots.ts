/** Offsets are multiples of this, plus 1, so that monitors share them: monitors of one interval and offset form a wave (ADR 11). */
export const OFFSET_STEP_MS = 50;

/** A scheduled check may start up to one interval plus this after its slot. After that, the slot is a gap (docs/reference/slots.md). */
export const GRACE_MS = 15_000;

/** A check that runs later than this after its slot counts as a gap, so that the counts of an hour become final. */
export const MAX_LATENESS_MS = 15 * 60_000;

/** How far the clock of a process may differ from those of the stores. Less than the grace period, which absorbs smaller differences. */
export const MAX_CLOCK_OFFSET_MS = 10_000;

/**
 * The offset of a monitor's checks in its interval, in milliseconds. It follows from the id, so that checks spread evenly and a rebuilt
 * schedule keeps its offsets. Never 0, which the job store reads as none.
 */
export function slotOffsetMs(monitorId: string, intervalMs: number): number {
  const offsets = Math.floor(intervalMs / OFFSET_STEP_MS);
  // A fraction of the interval, not a remainder: remainders of an hour and a minute coincide and would hide a change of the interval.
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

/** The monitors of a region that are checked at the same moments: one job of the queue's store (ADR 11). */
export interface Wave {
  readonly intervalSeconds: number;
  readonly offsetMs: number;
}

/** The wave that a monitor belongs to. */
export function waveOf(monitorId: string, intervalSeconds: number): Wave {
  return { intervalSeconds, offsetMs: slotOffsetMs(monitorId, intervalSeconds * 1_000) };
}

/** The name of a wave's job scheduler. Ids must not contain `:`. */
export function waveId(wave: Wave): string {
  return `wave-${wave.intervalSeconds}-${wave.offsetMs}`;
}

/** The wave of a job scheduler's name, or null for any other name. */
export function parseWaveId(id: string): Wave | null {
  const match = /^wave-([1-9]\d{0,5})-([1-9]\d{0,7})$/.exec(id);
  if (!match) return null;
  const wave = { intervalSeconds: Number(match[1]), offsetMs: Number(match[2]) };
  return wave.offsetMs < wave.intervalSeconds * 1_000 ? wave : null;
}

/** Why a monitor is checked besides its planned slots: it is new, a region has begun to fail, or its region is connected again. */
export type ExtraCheckReason = 'first' | 'retry' | 'recheck';

/** The id of an extra check at `slot`, epoch milliseconds. Job ids must not contain `:`. */
export function extraCheckJobId(reason: ExtraCheckReason, monitorId: string, slot: number): string {
  return `${reason}-${monitorId}-${slot}`;
}

/**
 * The time of a check in epoch milliseconds, from the id of its job: `repeat:<scheduler>:<millis>` or that of an extra check; else null.
 */
export function slotOfJob(jobId: string): number | null {
  const match = /^(?:repeat:.+:|(?:first|retry|recheck)-.+-)(\d{1,15})$/.exec(jobId);
  return match ? Number(match[1]) : null;
}

/** Whether a job's slot is planned, so that it counts as missed without a check. */
export function isPlannedSlot(jobId: string): boolean {
  return jobId.startsWith('repeat:');
}

/** Whether a job is the retry of a failed check, see `retrySlot`. */
export function isRetry(jobId: string): boolean {
  return jobId.startsWith('retry-');
}

/** The first planned slot of a monitor after a moment; epoch milliseconds. */
export function nextSlot(monitorId: string, intervalSeconds: number, after: number): number {
  const intervalMs = intervalSeconds * 1_000;
  const sinceSlot = (after - slotOffsetMs(monitorId, intervalMs)) % intervalMs;
  return after - sinceSlot + intervalMs;
}

/** When a monitor is checked; times in seconds. */
export interface CheckPlan {
  readonly monitorId: string;
  readonly intervalSeconds: number;
  /** Null: no retries. */
  readonly retryIntervalSeconds: number | null;
}

/**
 * When to retry a failed check, or null if its next planned slot is as early. Retries are whole retry intervals after a planned slot, so
 * that several failures, and repetitions of one, agree on the same retry. If the check took longer than that, the retry is due at once.
 * @param startedAt when the check began, and `now`, epoch milliseconds
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

/** Whether a slot may be that of a retry: a multiple of the retry interval after a planned slot. */
function isRetrySlot({ monitorId, intervalSeconds, retryIntervalSeconds }: CheckPlan, slot: number): boolean {
  if (retryIntervalSeconds === null) return false;
  const untilNext = nextSlot(monitorId, intervalSeconds, slot) - slot;
  const sincePlanned = intervalSeconds * 1_000 - untilNext;
  return sincePlanned > 0 && sincePlanned % (retryIntervalSeconds * 1_000) === 0;
}

/** Whether a check planned for `slot` is too old to run: the next one is due anyway. Times in epoch milliseconds. */
export function isTooLate(slot: number, intervalSeconds: number, now: number): boolean {
  return now - slot > intervalSeconds * 1_000 + GRACE_MS;
}

/** Whether two checks of a monitor may overlap, so that they need a lock across processes. */
export function mayOverlap(intervalSeconds: number, timeoutSeconds: number): boolean {
  return timeoutSeconds >= intervalSeconds / 2;
}

/** Consecutive planned slots without a recorded result. */
export interface SlotGap {
  /** The last recorded slot before them, epoch milliseconds. */
  readonly after: number;
  readonly slots: number;
}

/**
 * The gap between the newest slot that a region remembers, apart from retries, and this one; null if there is none, or if either is not a
 * slot of the current interval.
 */
export function gapBefore(plan: CheckPlan, recentSlots: readonly number[], slot: number): SlotGap | null {
  const intervalMs = plan.intervalSeconds * 1_000;
  const offset = slotOffsetMs(plan.monitorId, intervalMs);
  const after = Math.max(...recentSlots.filter((recent) => !isRetrySlot(plan, recent)));
  if (after % intervalMs !== offset || slot % intervalMs !== offset) return null;
  const slots = (slot - after) / intervalMs - 1;
  return slots > 0 ? { after, slots } : null;
}
