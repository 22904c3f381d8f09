import type { Timings } from '@tocsin/contracts/monitors/events';

type Phase = keyof Timings;

/** Phases of a check in order. `color` is the name of a CSS custom property. */
export const PHASES: readonly { readonly phase: Phase; readonly label: string; readonly color: string }[] = [
  { phase: 'dns', label: 'DNS', color: '--phase-dns' },
  { phase: 'tcp', label: 'TCP', color: '--phase-tcp' },
  { phase: 'tls', label: 'TLS', color: '--phase-tls' },
  { phase: 'firstByte', label: 'First byte', color: '--phase-first-byte' },
  { phase: 'download', label: 'Download', color: '--phase-download' },
];

/** Rounds up to 1, 2, 5, 10, 20, 50, … ms, so that the scale of the bars rarely changes. */
export function barScale(longestMs: number): number {
  let magnitude = 1;
  while (magnitude * 10 < longestMs) magnitude *= 10;
  return ([1, 2, 5].find((step) => step * magnitude >= longestMs) ?? 10) * magnitude;
}

/** Widths of the phases in a bar of `scaleMs`, in percent. The sum is at most 100. */
export function phaseShares(
  timings: Timings,
  scaleMs: number,
): { readonly phase: Phase; readonly color: string; readonly percent: number }[] {
  const total = PHASES.reduce((sum, { phase }) => sum + (timings[phase] ?? 0), 0);
  const whole = Math.max(scaleMs, total);
  return PHASES.flatMap(({ phase, color }) => {
    const ms = timings[phase] ?? 0;
    return ms > 0 ? [{ phase, color, percent: (ms / whole) * 100 }] : [];
  });
}
