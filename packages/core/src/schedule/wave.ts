import { phaseMs } from './phase.ts';

/** The monitors of a region that are checked at the same moments: one job of the queue's store (ADR 11). */
export interface Wave {
  readonly intervalSeconds: number;
  readonly phaseMs: number;
}

/** The wave that a monitor belongs to. */
export function waveOf(monitorId: string, intervalSeconds: number): Wave {
  return { intervalSeconds, phaseMs: phaseMs(monitorId, intervalSeconds * 1_000) };
}

/** The name of a wave's job scheduler; ids hold no `:`. */
export function waveId(wave: Wave): string {
  return `wave-${wave.intervalSeconds}-${wave.phaseMs}`;
}

/** The wave of a job scheduler's name, or null where it names none. */
export function parseWaveId(id: string): Wave | null {
  const match = /^wave-([1-9]\d{0,5})-([1-9]\d{0,7})$/.exec(id);
  if (!match) return null;
  const wave = { intervalSeconds: Number(match[1]), phaseMs: Number(match[2]) };
  return wave.phaseMs < wave.intervalSeconds * 1_000 ? wave : null;
}
