/** Percentiles in the unit of the values. */
type Distribution = Readonly<Record<'count' | 'p50' | 'p95' | 'p99' | 'max', number>>;

/** Computes percentiles by nearest rank, so that each is a measured value. All are NaN without values. */
export function distributionOf(values: readonly number[]): Distribution {
  const sorted = Float64Array.from(values).sort();
  const percentile = (percent: number): number => {
    const rank = Math.ceil((percent / 100) * sorted.length);
    return sorted[Math.max(0, rank - 1)] ?? Number.NaN;
  };
  return {
    count: sorted.length,
    p50: percentile(50),
    p95: percentile(95),
    p99: percentile(99),
    max: percentile(100),
  };
}
