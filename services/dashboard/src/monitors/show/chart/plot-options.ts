import type { MonitorStats } from '@tocsin/contracts/monitors/stats';
import uPlot from 'uplot';
import { formatLatency } from '../../../components/format-latency.ts';
import { PHASES } from '../phases.ts';
import { drawBackground, drawCaps } from './draw-marks.ts';
import type { PlotColors } from './plot-colors.ts';
import { axisLabel, latencyTop, timeRange } from './plot-data.ts';
import { PLOT_HEIGHT } from './plot-size.ts';

const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';

/** Where the pointer is: a bucket, and its middle in pixels from the left edge of the plot. */
export interface Pointed {
  readonly index: number;
  readonly left: number;
}

interface PlotSetup {
  readonly stats: Pick<MonitorStats, 'series' | 'window'>;
  readonly colors: PlotColors;
  readonly width: number;
  readonly onPoint: (pointed: Pointed | null) => void;
}

export function plotOptions({ stats, colors, width, onPoint }: PlotSetup): uPlot.Options {
  const axis: uPlot.Axis = {
    stroke: colors.text,
    font: FONT,
    grid: { stroke: colors.line, width: 1 },
    ticks: { stroke: colors.line, width: 1, size: 4 },
  };
  return {
    width,
    height: PLOT_HEIGHT,
    padding: [8, 28, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    scales: {
      x: { time: true, range: timeRange(stats.series, stats.window) },
      y: { range: (_plot, _lowest, highest) => [0, latencyTop(highest)] },
    },
    axes: [
      { ...axis, grid: { show: false }, space: 72, values: (_plot, splits) => splits.map(axisLabel) },
      { ...axis, size: 64, space: 40, values: (_plot, splits) => splits.map(formatLatency) },
    ],
    series: [
      {},
      ...PHASES.map(({ label }, index) => barSeries(label, colors.phases[index] ?? colors.text)).toReversed(),
    ],
    hooks: {
      drawAxes: [(plot) => drawBackground(plot, stats, colors)],
      draw: [(plot) => drawCaps(plot, stats, colors)],
      setCursor: [(plot) => onPoint(pointedOf(plot))],
    },
  };
}

function barSeries(label: string, fill: string): uPlot.Series {
  const paths = uPlot.paths.bars?.({ size: [0.8, 48] });
  return { label, fill, width: 0, points: { show: false }, ...(paths && { paths }) };
}

function pointedOf(plot: uPlot): Pointed | null {
  const { idx, left = -1 } = plot.cursor;
  if (idx === null || idx === undefined || left < 0) return null;
  const middle = plot.data[0][idx];
  return middle === undefined
    ? null
    : { index: idx, left: plot.over.offsetLeft + plot.valToPos(middle, 'x') };
}
