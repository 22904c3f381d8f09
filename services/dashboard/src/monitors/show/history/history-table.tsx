import type { MonitorStats } from '@tocsin/contracts/monitors/stats';
import type { ReactNode } from 'react';
import { formatLatency, formatUtcSpan } from '../../../components/format.ts';
import { ScrollRegion } from '../../../components/page.tsx';
import { countColumns, formatCounts, formatPercentiles, PERCENTILES } from '../figures.ts';
import { PHASES } from '../phases.ts';
import showClasses from '../show.module.css';
import { boundsOf } from './latency-plot.tsx';
import { describeRange } from './period.ts';

interface HistoryTableProps {
  readonly stats: MonitorStats;
  readonly label: string;
  /** In pixels. */
  readonly maxHeight: number;
}

/** The figures of each bucket, newest first. */
export function HistoryTable({ stats, label, maxHeight }: HistoryTableProps): ReactNode {
  const counts = countColumns(stats.series);
  const columns = [...counts, ...PHASES.map((phase) => phase.label), ...PERCENTILES];
  return (
    <ScrollRegion label={label} maxHeight={maxHeight}>
      <table className={showClasses['table']}>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {columns.map((column) => (
              <th key={column} scope="col" className={showClasses['number']}>
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {stats.series.toReversed().map((bucket) => {
            const [from, to] = boundsOf(bucket, stats);
            const texts = [
              ...formatCounts(bucket, counts),
              ...formatPhases(bucket),
              ...formatPercentiles(bucket),
            ];
            return (
              <tr key={bucket.start}>
                <th scope="row" title={formatUtcSpan(new Date(from), new Date(to))}>
                  {describeRange(from, to)}
                </th>
                {texts.map((text, index) => (
                  <td key={columns[index]} className={showClasses['number']}>
                    {text}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </ScrollRegion>
  );
}

function formatPhases({ timings }: MonitorStats['series'][number]): string[] {
  return PHASES.map(({ phase }) => (timings ? formatLatency(timings[phase]) : '–'));
}
