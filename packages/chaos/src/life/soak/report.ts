import { formatNumber } from '@tocsin/bench/report/table';
import { inWords } from '../oracle/in-words.ts';
import { faultsOf as faultsUnderLoad, type LoadReport } from '../report.ts';
import { boundOf, countedOf, isBytes, type Sample } from './sample.ts';
import { trendOf, type Trend } from './trend.ts';

/** What a soak has seen. */
export interface SoakReport extends LoadReport {
  readonly minutes: number;
  readonly trends: readonly (Trend & { readonly name: string })[];
}

/** A shorter run says nothing about an hour: what a process needs to warm up would look like a leak. */
export const SHORTEST_MINUTES = 10;

/** The trend of everything that was sampled. @param samples by their moment, in order; the first one has everything */
export function trendsOf(samples: readonly (readonly [number, Sample])[]): SoakReport['trends'] {
  const names = [...(samples[0]?.[1].keys() ?? [])].sort();
  return names.map((name) => {
    // Not everything is measured each time.
    const points = samples.flatMap(([at, sample]) => {
      const value = sample.get(name);
      return value === undefined ? [] : [{ at, value }];
    });
    return Object.assign(trendOf(points, boundOf(name), countedOf(name)), { name });
  });
}

/** What is wrong, in words; nothing where all is flat and in order. */
export function faultsOf(report: SoakReport): string[] {
  const { minutes, trends, stream } = report;
  const growing = minutes < SHORTEST_MINUTES ? [] : trends.filter(({ flat }) => !flat);
  const faults = inWords([[stream.unavailable, 'live streams were told to come later']]);
  return [...growing.map(({ name }) => `${name} grows`), ...faults, ...faultsUnderLoad(report)];
}

/** The report as tables in Markdown. */
export function tableOf({ minutes, trends, findings, api, stream, logs }: SoakReport): string {
  const rows = trends.map((trend) => {
    const unit = isBytes(trend.name) ? 1_000_000 : 1;
    const [start, end, most, perHour, bound] = [
      trend.start,
      trend.end,
      trend.most,
      trend.perHour,
      boundOf(trend.name),
    ].map((value) => formatNumber(value / unit));
    const verdict = minutes < SHORTEST_MINUTES ? '–' : trend.flat ? 'flat' : '**GROWS**';
    return `| ${trend.name} | ${start} | ${end} | ${most} | ${perHour} | ${bound} | ${verdict} |`;
  });
  const totals = [
    `events ${formatNumber(findings.events)}`,
    `planned checks ${formatNumber(findings.slots)}, missed ${findings.missed}`,
    `webhooks due ${formatNumber(findings.deliveries)}, received ${formatNumber(findings.received)}`,
    `API calls ${formatNumber(api.answered)}`,
    `records over the live stream ${formatNumber(stream.records)}, not brought ${findings.notStreamed.length}`,
    `errors in the logs ${logs.errors.length}, warnings ${logs.warnings.length}`,
  ];
  return [
    '| MB, or number | start | end | most | per hour | bound | verdict |',
    '| -- | --: | --: | --: | --: | --: | -- |',
    ...rows,
    '',
    ...totals.map((total) => `- ${total}`),
  ].join('\n');
}
