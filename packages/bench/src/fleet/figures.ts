import { lagFigures } from '../measure/checks.ts';
import { histogramPercentile, subtractHistogram, type Histogram } from '../measure/histogram.ts';
import { distributionOf } from '../measure/percentiles.ts';
import type { Usages } from '../measure/proc.ts';
import { cpuMicros, cpuPerCheck, usageBetween } from '../measure/usage.ts';
import { figure, type Figure } from '../report/figure.ts';
import type { Observation, Sample } from './observe.ts';

const NONE = { atMost: 0 };
/** Heaps and caches grow until then. */
const MEMORY_WARM_UP_MS = 20 * 60_000;
/** After a shorter time, chance would look like growth. */
const MIN_GROWTH_MS = 40 * 60_000;
/** Programs that are not part of the system. */
const OTHERS = new Set(['target', 'authoritative']);

export function slotFigures({ span, samples, windows }: Observation): Figure[] {
  const parts = samples.slice(1).map((sample, index) => lagBetween(samples[index], sample));
  const worst = Math.max(...parts.map((lag) => histogramPercentile(lag, 99)));
  const total = (name: 'expected' | 'missed' | 'repeated' | 'falseFailures' | 'falsePasses'): number =>
    windows.reduce((sum, window) => sum + window[name], 0);
  const seconds = (span.to - span.from) / 1_000;
  const latest = Math.max(...windows.map((window) => window.maxRecordedAfterMs));
  return [
    figure('offered', 'checks planned', total('expected') / seconds, '/s'),
    figure('done', 'checks recorded', recordedOf(windows) / seconds, '/s'),
    figure('missed', 'slots without an event', total('missed'), '', NONE),
    figure('repeated', 'slots with two events', total('repeated'), '', NONE),
    ...lagFigures(lagBetween(samples[0], samples.at(-1)), 1_000),
    figure('lag-p99-worst', 'schedule lag p99 of the worst half minute', worst * 1_000, 'ms'),
    figure('recorded-max', 'slot to recorded, without probe, max', latest, 'ms'),
    figure('false-failures', 'failed checks of targets that are up', total('falseFailures'), '', NONE),
    figure('false-passes', 'passed checks of targets that hang', total('falsePasses'), '', NONE),
  ];
}

function lagBetween(first?: Sample, last?: Sample): Histogram {
  return subtractHistogram(last?.lag ?? [], first?.lag ?? []);
}

function recordedOf(windows: Observation['windows']): number {
  return windows.reduce((sum, { expected, missed, repeated }) => sum + expected - missed + repeated, 0);
}

/** @param nameServers programs that are not part of the system */
export function cpuFigures({ samples, windows }: Observation, nameServers: readonly string[]): Figure[] {
  const checks = recordedOf(windows);
  const none: Usages = new Map();
  const usage = usageBetween(samples[0]?.usage ?? none, samples.at(-1)?.usage ?? none);
  return [
    ...cpuPerCheck(usage, checks),
    ...nameServers.map((name) => {
      const micros = cpuMicros(usage, [name]) / checks;
      return figure(`cpu-${name}`, `  (the ${name} name server, not of the system)`, micros, 'µs');
    }),
  ];
}

export function historyFigures(samples: readonly Sample[]): Figure[] {
  let [packed, removed] = [0, 0];
  for (const [index, { partitions }] of samples.entries()) {
    const before = samples[index - 1]?.partitions ?? partitions;
    const added = [...partitions].filter((name) => !before.has(name));
    packed += added.filter((name) => name.startsWith('event_blocks')).length;
    removed += [...before].filter((name) => !partitions.has(name)).length;
  }
  const rolled = samples.flatMap(({ rolledUntil }) => rolledUntil ?? []);
  const rolledMs = (rolled.at(-1) ?? 0) - (rolled[0] ?? 0);
  const megabytes = samples.map(({ databaseBytes }) => databaseBytes / 1e6);
  return [
    figure('rolled-up', 'time rolled up', rolledMs / 60_000, 'min'),
    figure('partitions-packed', 'partitions of events packed', packed, '', { atLeast: 3 }),
    // Packing also removes a partition of events.
    figure('partitions-expired', '  dropped after the retention', removed - packed, '', { atLeast: 1 }),
    figure('disk-max', 'size of the database, largest', Math.max(...megabytes), 'MB'),
  ];
}

/** Reports the maximum of each program's memory. A long run also has the growth between the medians of the first and the last quarter. */
export function fleetMemoryFigures(samples: readonly Sample[]): Figure[] {
  const start = (samples[0]?.at ?? 0) + MEMORY_WARM_UP_MS;
  const end = samples.at(-1)?.at ?? 0;
  const quarter = (end - start) / 4;
  const names = [...(samples[0]?.usage.keys() ?? [])].filter((name) => !OTHERS.has(name));
  return names.flatMap((name) => {
    const key = name.replaceAll(' ', '-');
    const memory = (from: number, to: number) =>
      distributionOf(
        samples.flatMap(({ at, usage }) =>
          at >= from && at <= to ? [(usage.get(name)?.rssBytes ?? Number.NaN) / 1e6] : [],
        ),
      );
    const highest = figure(`rss-${key}`, `memory of ${name}, largest`, memory(0, end).max, 'MB');
    if (end - start < MIN_GROWTH_MS) return [highest];
    const [first, last] = [memory(start, start + quarter).p50, memory(end - quarter, end).p50];
    return [
      highest,
      figure(`rss-first-${key}`, '  first quarter after minute 20', first, 'MB'),
      figure(`rss-last-${key}`, '  last quarter', last, 'MB'),
      figure(`growth-${key}`, '  growth between them', last - first, 'MB', { atMost: 15 }),
    ];
  });
}
