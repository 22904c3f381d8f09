/** A Prometheus histogram: how many values were at most each bound. The bounds ascend, the last is Infinity. */
export type Histogram = readonly { readonly atMost: number; readonly count: number }[];

/** Reads one histogram from texts of `/metrics`; series with different labels, and of several processes, are added up. */
export function parseHistogram(texts: readonly string[], name: string): Histogram {
  const counts = new Map<number, number>();
  for (const line of texts.join('\n').split('\n')) {
    const bound = /\ble="([^"]+)"/.exec(line)?.[1];
    if (bound === undefined || !line.startsWith(`${name}_bucket{`)) continue;
    const atMost = bound === '+Inf' ? Infinity : Number(bound);
    counts.set(atMost, (counts.get(atMost) ?? 0) + Number(line.slice(line.lastIndexOf(' ') + 1)));
  }
  return [...counts].map(([atMost, count]) => ({ atMost, count })).sort((a, b) => a.atMost - b.atMost);
}

/** The counts between two readings. */
export function subtractHistogram(later: Histogram, earlier: Histogram): Histogram {
  const before = new Map(earlier.map(({ atMost, count }) => [atMost, count]));
  return later.map(({ atMost, count }) => ({ atMost, count: count - (before.get(atMost) ?? 0) }));
}

/**
 * A percentile, interpolated within its bucket like Prometheus' `histogram_quantile`. In the last bucket: the largest finite bound.
 * NaN if nothing was counted.
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
