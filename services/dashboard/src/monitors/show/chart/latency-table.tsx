import type { MonitorStats } from '@tocsin/contracts/monitors/stats';
import type { ReactNode } from 'react';
import { formatLatency } from '../../../components/format-latency.ts';
import { formatCount, formatUptime } from '../figures.ts';
import { PHASES } from '../phases.ts';
import { ScrollRegion } from '../scroll-region.tsx';
import classes from '../show.module.css';
import { describeBucket, describeBucketUtc } from './describe-bucket.ts';
import { PLOT_HEIGHT } from './plot-size.ts';

const HEADS = ['Checks', 'Failed', 'Gaps', 'Uptime'] as const;
const PERCENTILES = ['p50', 'p95', 'p99'] as const;

/** The figures of the chart as a table, newest first. */
export function LatencyTable({
  stats,
  label,
}: {
  readonly stats: MonitorStats;
  readonly label: string;
}): ReactNode {
  return (
    <ScrollRegion label={label} maxHeight={PLOT_HEIGHT}>
      <table className={classes['table']}>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {[...HEADS, ...PHASES.map(({ label }) => label), ...PERCENTILES].map((head) => (
              <th key={head} scope="col" className={classes['number']}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {stats.series.toReversed().map((bucket) => (
            <tr key={bucket.start}>
              <th scope="row" title={describeBucketUtc(bucket.start, stats.window)}>
                {describeBucket(bucket.start, stats.window)}
              </th>
              {cellsOf(bucket).map(([head, text]) => (
                <td key={head} className={classes['number']}>
                  {text}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}

function cellsOf(bucket: MonitorStats['series'][number]): [string, string][] {
  const { checks, failures, gaps, uptime, timings, latency } = bucket;
  return [
    ['checks', formatCount(checks)],
    ['failures', formatCount(failures)],
    ['gaps', formatCount(gaps)],
    ['uptime', uptime === null ? '–' : formatUptime(uptime)],
    ...PHASES.map(({ phase }): [string, string] => [phase, timings ? formatLatency(timings[phase]) : '–']),
    ...PERCENTILES.map((name): [string, string] => [name, latency ? formatLatency(latency[name]) : '–']),
  ];
}
