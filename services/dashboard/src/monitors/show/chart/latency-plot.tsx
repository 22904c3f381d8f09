import 'uplot/dist/uPlot.min.css';
import { useComputedColorScheme } from '@mantine/core';
import type { MonitorStats, StatsWindow } from '@tocsin/contracts/monitors/stats';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import uPlot from 'uplot';
import { formatLatency } from '../../../components/format.ts';
import { describeChecks } from '../figures.ts';
import { PHASES } from '../phases.ts';
import { phaseColors, PhaseSwatch } from '../phases.tsx';
import classes from './chart.module.css';
import { describeBucket, describeBucketUtc, PLOT_HEIGHT, toPlotData } from './plot-data.ts';
import { plotOptions, type Pointed, readPlotColors } from './plot-options.ts';

interface LatencyPlotProps {
  readonly stats: MonitorStats;
  /** The accessible name. */
  readonly label: string;
}

/** Stacked bars of the average phases in each bucket, with marks for failures and gaps. */
export function LatencyPlot(props: LatencyPlotProps): ReactNode {
  // A painted canvas keeps its colors: a new color scheme needs a new canvas.
  return <Plot key={useComputedColorScheme()} {...props} />;
}

function Plot({ stats, label }: LatencyPlotProps): ReactNode {
  const host = useRef<HTMLDivElement>(null);
  const { series, window } = stats;
  const [pointed, setPointed] = useState<Pointed | null>(null);
  useEffect(() => {
    const element = host.current;
    if (element === null) return undefined;
    const plot = new uPlot(
      plotOptions({
        stats: { series, window },
        colors: readPlotColors(element),
        width: element.clientWidth,
        onPoint: setPointed,
      }),
      toPlotData(series, window),
      element,
    );
    const observer = new ResizeObserver(() => {
      if (element.clientWidth !== plot.width)
        plot.setSize({ width: element.clientWidth, height: PLOT_HEIGHT });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
      setPointed(null);
    };
  }, [series, window]);
  const bucket = pointed === null ? undefined : series[pointed.index];
  return (
    <div className={`${phaseColors} ${classes['frame'] ?? ''}`} role="img" aria-label={label}>
      <div ref={host} className={classes['host']} style={{ height: PLOT_HEIGHT }} />
      {pointed !== null && bucket !== undefined && (
        <BucketTooltip
          bucket={bucket}
          window={window}
          left={pointed.left}
          toTheLeft={pointed.index > series.length / 2}
        />
      )}
    </div>
  );
}

interface BucketTooltipProps {
  readonly bucket: MonitorStats['series'][number];
  readonly window: StatsWindow;
  /** Of the bucket, in pixels. */
  readonly left: number;
  readonly toTheLeft: boolean;
}

/** The figures of the bucket under the pointer. It is hidden from screen readers: the table has the same data. */
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
