/** A Prometheus histogram: how many values were at most each bound. The bounds ascend, the last is Infinity. */
export type Histogram = readonly { readonly atMost: number; readonly count: number }[];

/** Reads one histogram out of the text of `/metrics`; its series with different labels are added up. */
export function parseHistogram(text: string, name: string): Histogram {
  const counts = new Map<number, number>();
  for (const line of text.split('\n')) {
    if (!line.startsWith(`${name}_bucket{`)) continue;
    const bound = /\ble="([^"]+)"/.exec(line)?.[1];
    const count = Number(line.slice(line.lastIndexOf(' ') + 1));
    if (bound === undefined) continue;
    const atMost = bound === '+Inf' ? Infinity : Number(bound);
    counts.set(atMost, (counts.get(atMost) ?? 0) + count);
  }
  return [...counts].map(([atMost, count]) => ({ atMost, count })).sort((a, b) => a.atMost - b.atMost);
}

/** Several processes' histograms of the same bounds as one. */
export function addHistograms(histograms: readonly Histogram[]): Histogram {
  const counts = new Map<number, number>();
  for (const { atMost, count } of histograms.flat()) counts.set(atMost, (counts.get(atMost) ?? 0) + count);
  return [...counts].map(([atMost, count]) => ({ atMost, count })).sort((a, b) => a.atMost - b.atMost);
}

/** What came between two readings. */
export function subtractHistogram(later: Histogram, earlier: Histogram): Histogram {
  const before = new Map(earlier.map(({ atMost, count }) => [atMost, count]));
  return later.map(({ atMost, count }) => ({ atMost, count: count - (before.get(atMost) ?? 0) }));
}

/**
 * A percentile, evenly spread within its bucket, as Prometheus' `histogram_quantile` does it. In the last bucket: the largest
 * finite bound. NaN where nothing was counted.
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
