/** The cumulative counts of a Prometheus histogram. The bounds ascend, and the last one is Infinity. */
export type Histogram = readonly { readonly atMost: number; readonly count: number }[];

/** Reads a histogram from texts of `/metrics`. Adds up series with different labels, and of several processes. */
export function parseHistogram(texts: readonly string[], name: string): Histogram {
  const lines = texts.join('\n').split('\n');
  const buckets = lines.flatMap((line) => {
    const bound = /\ble="([^"]+)"/.exec(line)?.[1];
    if (bound === undefined || !line.startsWith(`${name}_bucket{`)) return [];
    const atMost = bound === '+Inf' ? Infinity : Number(bound);
    return [{ atMost, count: Number(line.slice(line.lastIndexOf(' ') + 1)) }];
  });
  return sumHistograms([buckets]);
}

export function sumHistograms(histograms: readonly Histogram[]): Histogram {
  const counts = new Map<number, number>();
  for (const { atMost, count } of histograms.flat()) counts.set(atMost, (counts.get(atMost) ?? 0) + count);
  return [...counts].map(([atMost, count]) => ({ atMost, count })).sort((a, b) => a.atMost - b.atMost);
}

/** Returns the counts between two readings. */
export function subtractHistogram(later: Histogram, earlier: Histogram): Histogram {
  const before = new Map(earlier.map(({ atMost, count }) => [atMost, count]));
  return later.map(({ atMost, count }) => ({ atMost, count: count - (before.get(atMost) ?? 0) }));
}

/**
 * Interpolates a percentile within its bucket, like Prometheus' `histogram_quantile`. Returns the largest finite bound for the last bucket,
 * and NaN without values.
 */
export function histogramPercentile(histogram: Histogram, percent: number): number {
  const total = histogram.at(-1)?.count ?? 0;
  if (total === 0) return Number.NaN;
  const rank = (percent / 100) * total;
  const index = histogram.findIndex(({ count }) => count >= rank);
  const bucket = histogram[index];
  const below = histogram[index - 1] ?? { atMost: 0, count: 0 };
  if (bucket === undefined || bucket.atMost === Infinity) return below.atMost;
  const share = bucket.count === below.count ? 1 : (rank - below.count) / (bucket.count - below.count);
  return below.atMost + share * (bucket.atMost - below.atMost);
}
