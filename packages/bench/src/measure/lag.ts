import { addHistograms, parseHistogram, subtractHistogram, type Histogram } from './histogram.ts';

const METRIC = 'tocsin_check_schedule_lag_seconds';

/** The schedule lag that checkers have measured, all together; since an earlier reading where there is one. */
export async function readLag(
  checkers: readonly { readonly healthPort: number }[],
  since: Histogram = [],
): Promise<Histogram> {
  const texts = await Promise.all(
    checkers.map(async ({ healthPort }) => (await fetch(`http://127.0.0.1:${healthPort}/metrics`)).text()),
  );
  return subtractHistogram(addHistograms(texts.map((text) => parseHistogram(text, METRIC))), since);
}
