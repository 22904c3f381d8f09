import type { MonitorStats } from '@tocsin/contracts/monitors/stats';
import { memo, type ReactNode } from 'react';
import { formatLatency } from '../../../components/format.ts';
import { phaseShares } from '../phases.ts';
import classes from './history.module.css';
import { type Axis, placeOf } from './period.ts';
import { failedPercent, latencyTicks, type PlotView } from './plot-data.ts';

type Bucket = MonitorStats['series'][number];

/** Start and end of a bucket in epoch milliseconds. */
export function boundsOf(
  { start }: Bucket,
  { bucketSeconds }: Pick<MonitorStats, 'bucketSeconds'>,
): [number, number] {
  const from = Date.parse(start);
  return [from, from + bucketSeconds * 1_000];
}

interface LatencyPlotProps {
  readonly axis: Axis;
  readonly stats: MonitorStats;
  readonly view: PlotView;
  /** Latency at the top of the plot in milliseconds. */
  readonly top: number;
}

/** The latency in each bucket, with a red part for its failed checks, and marks for gaps and inconclusive checks. Memoized, because the
 * pointer moves often. */
export const LatencyPlot = memo(function LatencyPlot({
  axis,
  stats,
  view,
  top,
}: LatencyPlotProps): ReactNode {
  return (
    <>
      {latencyTicks(top).map((ms) => (
        <div key={ms} className={classes['latencyTick']} style={{ bottom: `${(ms / top) * 100}%` }}>
          {formatLatency(ms)}
        </div>
      ))}
      {stats.series.map((bucket) => {
        const { left, width } = placeOf(axis, ...boundsOf(bucket, stats));
        return (
          <div
            key={bucket.start}
            className={classes['bucket']}
            data-gaps={bucket.gaps > 0}
            data-inconclusive={bucket.inconclusive > 0}
            style={{ left: `${left}%`, width: `${width}%` }}
          >
            {view === 'phases' ? (
              <Phases bucket={bucket} top={top} />
            ) : (
              <Percentiles latency={bucket.latency} top={top} />
            )}
            {bucket.failures > 0 && (
              <span className={classes['failed']} style={{ height: `${failedPercent(bucket)}%` }} />
            )}
          </div>
        );
      })}
    </>
  );
});

function Phases({ bucket: { timings }, top }: { readonly bucket: Bucket; readonly top: number }): ReactNode {
  return (
    timings && (
      <div className={classes['stack']}>
        {phaseShares(timings, top).map(({ phase, color, percent }) => (
          <span key={phase} style={{ height: `${percent}%`, background: `var(${color})` }} />
        ))}
      </div>
    )
  );
}

interface PercentilesProps {
  readonly latency: Bucket['latency'];
  readonly top: number;
}

/** A line for the median, with bands up to the 95th and 99th percentile. */
function Percentiles({ latency, top }: PercentilesProps): ReactNode {
  if (latency === null) return null;
  const { p50, p95, p99 } = latency;
  const percent = (ms: number): string => `${(ms / top) * 100}%`;
  return (
    <>
      <span className={classes['p99']} style={{ bottom: percent(p50), height: percent(p99 - p50) }} />
      <span className={classes['p95']} style={{ bottom: percent(p50), height: percent(p95 - p50) }} />
      <span className={classes['p50']} style={{ bottom: percent(p50) }} />
    </>
  );
}
