/** As `74 ms`, `2.35 s` or `12.5 s`. */
export function formatLatency(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1_000;
  return `${seconds.toFixed(seconds < 10 ? 2 : 1).replace(/\.?0+$/, '')} s`;
}
