/** Phases lie this far apart, so that monitors share them: those of one interval and phase are one wave (ADR 11). */
export const PHASES_APART_MS = 50;

/**
 * Where in its interval a monitor is checked: at least 1 millisecond after each multiple of the interval since the epoch,
 * fixed by the monitor's id, so that checks spread evenly and a rebuilt schedule keeps its phases.
 * Never 0: the job store reads an offset of 0 as "none".
 */
export function phaseMs(monitorId: string, intervalMs: number): number {
  const phases = Math.floor(intervalMs / PHASES_APART_MS);
  // A part of the interval, not a remainder: those of an hour and of a minute would fall together, and hide a new interval.
  return 1 + Math.floor((hash(monitorId) / 2 ** 32) * phases) * PHASES_APART_MS;
}

/** FNV-1a with a final avalanche, so that ids made in one millisecond still spread. */
function hash(text: string): number {
  let value = 0x81_1c_9d_c5;
  for (let index = 0; index < text.length; index += 1) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01_00_01_93);
  }
  value = Math.imul(value ^ (value >>> 16), 0x85_eb_ca_6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2_b2_ae_35);
  return (value ^ (value >>> 16)) >>> 0;
}
