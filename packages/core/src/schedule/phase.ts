/**
 * Where in its interval a monitor is checked: 1 to `intervalMs - 1` milliseconds after each multiple of the interval since
 * the epoch, fixed by the monitor's id, so that checks spread evenly and a rebuilt schedule keeps its phases.
 * Never 0: the job store reads an offset of 0 as "none".
 */
export function phaseMs(monitorId: string, intervalMs: number): number {
  return 1 + (hash(monitorId) % (intervalMs - 1));
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
