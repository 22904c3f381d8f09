import type { MonitorStats, StatsWindow } from '@tocsin/contracts/monitors/stats';
import { memo, type ReactNode, useState } from 'react';
import { formatLatency } from '../../../components/format.ts';
import { describeChecks, hasChecks } from '../figures.ts';
import { PHASES, phaseShares } from '../phases.ts';
import { phaseColors, PhaseSwatch } from '../phases.tsx';
import classes from './chart.module.css';
import { describeBucket, describeBucketUtc, latencyTicks, latencyTop, timeTicks } from './plot-data.ts';

type Bucket = MonitorStats['series'][number];

interface LatencyPlotProps {
  readonly stats: MonitorStats;
  /** The accessible name. */
  readonly label: string;
}

/** Stacked bars of the average phases in each bucket, with marks for failures, gaps and inconclusive checks. */
export function LatencyPlot({ stats: { series, window }, label }: LatencyPlotProps): ReactNode {
  const [pointed, setPointed] = useState<number | null>(null);
  const top = latencyTop(series);
  return (
    <div className={`${phaseColors} ${classes['frame'] ?? ''}`} role="img" aria-label={label}>
      <div className={classes['plot']} onPointerLeave={() => setPointed(null)}>
        {latencyTicks(top).map((ms) => (
          <div key={ms} className={classes['latencyTick']} style={{ bottom: `${(ms / top) * 100}%` }}>
            {formatLatency(ms)}
          </div>
        ))}
        {timeTicks(series, window).map((tick) => (
          <div
            key={tick.position}
            className={classes['timeTick']}
            style={{ left: `${tick.position * 100}%` }}
          >
            {tick.label}
          </div>
        ))}
        <Bars buckets={series} top={top} onPoint={setPointed} />
        {pointed !== null && (
          <BucketTooltip
            bucket={series[pointed]}
            window={window}
            position={(pointed + 0.5) / series.length}
          />
        )}
      </div>
    </div>
  );
}

interface BarsProps {
  readonly buckets: readonly Bucket[];
  /** The latency of a bar as high as the plot. */
  readonly top: number;
  readonly onPoint: (index: number) => void;
}

/** Memoized, because the pointer moves often. */
const Bars = memo(function Bars({ buckets, top, onPoint }: BarsProps): ReactNode {
  return (
    <div className={classes['bars']}>
      {buckets.map(({ start, failures, inconclusive, gaps, timings }, index) => (
        <div
          key={start}
          className={classes['bucket']}
          data-failures={failures > 0}
          data-gaps={gaps > 0}
          data-inconclusive={inconclusive > 0}
          onPointerEnter={() => onPoint(index)}
        >
          {timings &&
            phaseShares(timings, top).map(({ phase, color, percent }) => (
              <span key={phase} style={{ height: `${percent}%`, background: `var(${color})` }} />
            ))}
        </div>
      ))}
    </div>
  );
});

interface BucketTooltipProps {
  readonly bucket: Bucket | undefined;
  readonly window: StatsWindow;
  /** From 0 to 1. */
  readonly position: number;
}

/** The figures of the bucket under the pointer. The table has the same data for screen readers. */
function BucketTooltip({ bucket, window, position }: BucketTooltipProps): ReactNode {
  if (bucket === undefined) return null;
  const { start, timings, latency } = bucket;
  return (
    <div
      className={classes['tooltip']}
      data-side={position > 0.5 ? 'left' : 'right'}
      style={{ left: `${position * 100}%` }}
    >
      <div className={classes['tooltipTitle']}>{describeBucket(start, window)}</div>
      <div className={classes['quiet']}>{describeBucketUtc(start, window)}</div>
      <div>{hasChecks(bucket) ? describeChecks(bucket) : 'No checks'}</div>
      {timings && (
        <table>
          <tbody>
            {PHASES.map(({ phase, label, color }) => (
              <tr key={phase}>
                <th scope="row">
                  <PhaseSwatch color={color} /> {label}
                </th>
                <td>{formatLatency(timings[phase])}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {latency && (
        <div className={classes['quiet']}>
          p50 {formatLatency(latency.p50)} · p95 {formatLatency(latency.p95)} · p99{' '}
          {formatLatency(latency.p99)}
        </div>
      )}
    </div>
  );
}
