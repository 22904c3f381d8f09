import { histogramPercentile, subtractHistogram } from '../measure/histogram.ts';
import { distributionOf } from '../measure/percentiles.ts';
import { figure, type Figure } from '../report/figure.ts';
import type { AlertReport } from './find-alerts.ts';
import { growthOf } from './growth.ts';
import { changesOf } from './history.ts';
import type { Observation, Sample } from './observe.ts';

/** Heaps and caches grow until then. */
const MEMORY_WARM_UP_MS = 20 * 60_000;
/** After a shorter time, chance would look like growth. */
const MIN_GROWTH_MS = 40 * 60_000;
/** Programs that are not part of the system. */
const OTHERS = new Set(['web-target', 'authoritative']);

export function slotFigures({ span, samples, windows }: Observation): Figure[] {
  const [first, last] = [samples[0], samples.at(-1)];
  const lag = first && last ? subtractHistogram(last.lag, first.lag) : [];
  const lagMs = (percent: number): number => histogramPercentile(lag, percent) * 1_000;
  const total = (name: 'expected' | 'missed' | 'repeated' | 'falseFailures' | 'falsePasses'): number =>
    windows.reduce((sum, window) => sum + window[name], 0);
  const seconds = (span.to - span.from) / 1_000;
  return [
    figure('offered', 'checks planned', total('expected') / seconds, '/s'),
    figure('done', 'checks recorded', recordedOf(windows) / seconds, '/s'),
    figure('missed', 'slots without an event', total('missed'), ''),
    figure('repeated', 'slots with two events', total('repeated'), ''),
    ...[50, 95, 99].map((p) => figure(`lag-p${p}`, `schedule lag p${p}`, lagMs(p), 'ms')),
    figure('lag-p99-worst', 'schedule lag p99 of the worst half minute', worstLag(samples, 99) * 1_000, 'ms'),
    figure(
      'recorded-max',
      'slot to recorded, without probe, max',
      Math.max(...windows.map((window) => window.maxRecordedAfterMs)),
      'ms',
    ),
    figure('false-failures', 'failed checks of targets that are up', total('falseFailures'), ''),
    figure('false-passes', 'passed checks of targets that hang', total('falsePasses'), ''),
  ];
}

/** The number of events of all windows. */
export function recordedOf(windows: Observation['windows']): number {
  return windows.reduce((sum, { expected, missed, repeated }) => sum + expected - missed + repeated, 0);
}

function worstLag(samples: readonly Sample[], percent: number): number {
  const parts = samples
    .slice(1)
    .map((sample, index) => subtractHistogram(sample.lag, samples[index]?.lag ?? []));
  return Math.max(...parts.map((lag) => histogramPercentile(lag, percent)));
}

export function alertFigures({ expected, missing, unexpected, repeated, delaysMs }: AlertReport): Figure[] {
  const { p50, p99 } = distributionOf(delaysMs);
  return [
    figure('flips', 'status changes of flapping targets', expected, ''),
    figure('webhooks-missing', '  webhooks that did not arrive', missing, ''),
    figure('webhooks-repeated', '  webhooks that arrived twice', repeated, ''),
    figure('webhooks-unexpected', 'webhooks without a change of the target', unexpected.length, ''),
    figure('detected-p50', 'change of the target to webhook p50', p50 / 1_000, 's'),
    figure('detected-p99', '  p99', p99 / 1_000, 's'),
  ];
}

export function historyFigures(samples: readonly Sample[]): Figure[] {
  const { created, packed, expired, rolledMs } = changesOf(samples.map(({ history }) => history));
  const bytes = samples.map(({ history }) => history.databaseBytes);
  return [
    figure('rolled-up', 'time rolled up', rolledMs / 60_000, 'min'),
    figure('partitions-created', 'partitions of events created', created, ''),
    figure('partitions-packed', '  packed', packed, ''),
    figure('partitions-expired', '  dropped after the retention', expired, ''),
    figure('disk-max', 'size of the database, largest', Math.max(...bytes) / 1_000_000, 'MB'),
    figure('disk-end', '  at the end', (bytes.at(-1) ?? Number.NaN) / 1_000_000, 'MB'),
  ];
}

/** The memory of each program: its growth, if the run is long enough, and its maximum. */
export function fleetMemoryFigures(samples: readonly Sample[]): Figure[] {
  const start = samples[0]?.at ?? 0;
  const warm = samples.filter(({ at }) => at >= start + MEMORY_WARM_UP_MS);
  const isLongEnough = (samples.at(-1)?.at ?? 0) - start >= MEMORY_WARM_UP_MS + MIN_GROWTH_MS;
  const names = [...(samples[0]?.usage.keys() ?? [])].filter((name) => !OTHERS.has(name));
  return names.flatMap((name) => {
    const megabytes = (of: readonly Sample[]) =>
      of.map(({ at, usage }) => ({ at, value: (usage.get(name)?.rssBytes ?? Number.NaN) / 1_000_000 }));
    const key = name.replaceAll(' ', '-');
    const { max } = growthOf(megabytes(samples));
    const highest = figure(`rss-${key}`, `memory of ${name}, largest`, max, 'MB');
    if (!isLongEnough) return [highest];
    const { first, last, growth, perHour } = growthOf(megabytes(warm));
    return [
      highest,
      figure(`rss-first-${key}`, '  first quarter after minute 20', first, 'MB'),
      figure(`rss-last-${key}`, '  last quarter', last, 'MB'),
      figure(`growth-${key}`, '  growth between them', growth, 'MB'),
      figure(`growth-hourly-${key}`, '  in an hour', perHour, 'MB'),
    ];
  });
}
