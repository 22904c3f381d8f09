import type { MonitorStats } from '@tocsin/contracts/monitors/stats';
import type { ReactNode } from 'react';
import { DataTable } from '../../../components/data-table.tsx';
import { formatLatency, formatUtcSpan } from '../../../components/format.ts';
import { ScrollRegion } from '../../../components/page.tsx';
import { figureColumns } from '../figures.ts';
import { PHASES } from '../phases.ts';
import { boundsOf } from './latency-plot.tsx';
import { describeRange } from './period.ts';

type Bucket = MonitorStats['series'][number];

interface HistoryTableProps {
  readonly stats: MonitorStats;
  readonly label: string;
  /** In pixels. */
  readonly maxHeight: number;
}

/** The figures of each bucket, newest first. */
export function HistoryTable({ stats, label, maxHeight }: HistoryTableProps): ReactNode {
  const rows = stats.series.toReversed();
  const figures = figureColumns(rows, (bucket) => bucket);
  const phases = PHASES.map(({ phase, label: title }) => [
    title,
    ({ timings }: Bucket) => (timings ? formatLatency(timings[phase]) : '–'),
  ]);
  const numbers = { ...figures, ...(Object.fromEntries(phases) as typeof figures) };
  return (
    <ScrollRegion label={label} maxHeight={maxHeight}>
      <DataTable
        label={label}
        stickyHeader
        rows={rows}
        rowKey={({ start }) => start}
        numbers={Object.keys(numbers)}
        columns={{ Time: (bucket) => <BucketTime bounds={boundsOf(bucket, stats)} />, ...numbers }}
      />
    </ScrollRegion>
  );
}

function BucketTime({ bounds: [from, to] }: { readonly bounds: readonly [number, number] }): ReactNode {
  return <span title={formatUtcSpan(new Date(from), new Date(to))}>{describeRange(from, to)}</span>;
}
