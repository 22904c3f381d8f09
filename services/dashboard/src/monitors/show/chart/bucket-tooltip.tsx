import type { MonitorStats, StatsWindow } from '@tocsin/contracts/monitors/stats';
import type { ReactNode } from 'react';
import { formatLatency } from '../../../components/format-latency.ts';
import { describeChecks } from '../figures.ts';
import { PHASES } from '../phases.ts';
import { PhaseSwatch } from '../phases.tsx';
import classes from './chart.module.css';
import { describeBucket, describeBucketUtc } from './describe-bucket.ts';

interface BucketTooltipProps {
  readonly bucket: MonitorStats['series'][number];
  readonly window: StatsWindow;
  /** Of the bucket, in pixels. */
  readonly left: number;
  readonly toTheLeft: boolean;
}

/** What the bucket under the pointer holds; the table says the same to who has none. */
export function BucketTooltip({ bucket, window, left, toTheLeft }: BucketTooltipProps): ReactNode {
  const { timings, latency } = bucket;
  return (
    <div className={classes['tooltip']} data-side={toTheLeft ? 'left' : 'right'} style={{ left }} aria-hidden>
      <div className={classes['tooltipTitle']}>{describeBucket(bucket.start, window)}</div>
      <div className={classes['quiet']}>{describeBucketUtc(bucket.start, window)}</div>
      <div>{bucket.checks === 0 && bucket.gaps === 0 ? 'No checks' : describeChecks(bucket)}</div>
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
