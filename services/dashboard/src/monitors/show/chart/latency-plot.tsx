import 'uplot/dist/uPlot.min.css';
import { useComputedColorScheme } from '@mantine/core';
import type { MonitorStats } from '@tocsin/contracts/monitors/stats';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import uPlot from 'uplot';
import { phaseColors } from '../phases.tsx';
import { BucketTooltip } from './bucket-tooltip.tsx';
import classes from './chart.module.css';
import { readPlotColors } from './plot-colors.ts';
import { toPlotData } from './plot-data.ts';
import { plotOptions, type Pointed } from './plot-options.ts';
import { PLOT_HEIGHT } from './plot-size.ts';

interface LatencyPlotProps {
  readonly stats: MonitorStats;
  /** What a screen reader says of it. */
  readonly label: string;
}

/** Average phases of each bucket as stacked bars; failures and gaps marked. */
export function LatencyPlot(props: LatencyPlotProps): ReactNode {
  // What is painted keeps its colours: another scheme needs another canvas.
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
