import type { MonitorStats } from '@tocsin/contracts/monitors/stats';
import uPlot from 'uplot';
import { formatLatency } from '../../../components/format.ts';
import { PHASES } from '../phases.ts';
import { axisLabel, bucketSeconds, latencyTop, PLOT_HEIGHT, timeRange } from './plot-data.ts';

const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';

/** The bucket under the pointer. `left` is its middle in pixels from the left edge. */
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

/** The colors to paint with. A canvas does not resolve custom properties. */
interface PlotColors {
  /** In the order of `PHASES`. */
  readonly phases: readonly string[];
  readonly failure: string;
  readonly gap: string;
  readonly text: string;
  readonly line: string;
}

/** Resolves the custom properties within `element` in the current color scheme. */
export function readPlotColors(element: HTMLElement): PlotColors {
  const read = (property: string): string => readColor(element, property);
  return {
    phases: PHASES.map(({ color }) => read(color)),
    failure: read('--status-down'),
    gap: read('--status-pending'),
    text: read('--text-quiet'),
    line: read('--line'),
  };
}

/** Uses a new element for each color: a transition could delay the change of an existing one. */
function readColor(element: HTMLElement, property: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${property})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

const CAP_HEIGHT = 7;
const HATCH_SPACING = 6;

type Buckets = Pick<MonitorStats, 'series' | 'window'>;
type Bucket = MonitorStats['series'][number];

interface Column {
  readonly left: number;
  readonly width: number;
}

/** Tints buckets with failures and hatches buckets with gaps, behind the bars. */
function drawBackground(plot: uPlot, { series, window }: Buckets, colors: PlotColors): void {
  const { ctx, bbox } = plot;
  ctx.save();
  for (const bucket of series) {
    if (bucket.failures === 0 && bucket.gaps === 0) continue;
    const { left, width } = columnOf(plot, bucket, bucketSeconds(window));
    if (bucket.failures > 0) {
      ctx.globalAlpha = 0.12;
      ctx.fillStyle = colors.failure;
      ctx.fillRect(left, bbox.top, width, bbox.height);
    }
    if (bucket.gaps > 0) drawHatch(plot, { left, width }, colors.gap);
  }
  ctx.restore();
}

/** Draws a cap at the top of each bucket with failures, above the bars. */
function drawCaps(plot: uPlot, { series, window }: Buckets, colors: PlotColors): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.fillStyle = colors.failure;
  for (const bucket of series) {
    if (bucket.failures === 0) continue;
    const { left, width } = columnOf(plot, bucket, bucketSeconds(window));
    ctx.fillRect(left, bbox.top, width, CAP_HEIGHT * uPlot.pxRatio);
  }
  ctx.restore();
}

function columnOf(plot: uPlot, { start }: Bucket, seconds: number): Column {
  const from = Date.parse(start) / 1_000;
  const left = Math.round(plot.valToPos(from, 'x', true));
  const right = Math.round(plot.valToPos(from + seconds, 'x', true));
  return { left, width: Math.max(2 * uPlot.pxRatio, right - left) };
}

function drawHatch({ ctx, bbox }: uPlot, { left, width }: Column, color: string): void {
  const spacing = HATCH_SPACING * uPlot.pxRatio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, bbox.top, width, bbox.height);
  ctx.clip();
  ctx.globalAlpha = 0.55;
  ctx.strokeStyle = color;
  ctx.lineWidth = uPlot.pxRatio;
  ctx.beginPath();
  // All columns share one grid of lines, so that the hatches of neighbors join.
  const first = Math.floor((left - bbox.height) / spacing) * spacing;
  for (let x = first; x < left + width; x += spacing) {
    ctx.moveTo(x, bbox.top + bbox.height);
    ctx.lineTo(x + bbox.height, bbox.top);
  }
  ctx.stroke();
  ctx.restore();
}
