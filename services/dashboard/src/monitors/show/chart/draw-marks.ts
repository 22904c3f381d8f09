import type { MonitorStats } from '@tocsin/contracts/monitors/stats';
import uPlot from 'uplot';
import type { PlotColors } from './plot-colors.ts';
import { bucketSeconds } from './plot-data.ts';

const CAP_HEIGHT = 7;
const HATCH_SPACING = 6;

type Buckets = Pick<MonitorStats, 'series' | 'window'>;
type Bucket = MonitorStats['series'][number];

interface Column {
  readonly left: number;
  readonly width: number;
}

/** Behind the bars: buckets with gaps are hatched, those with failures tinted. */
export function drawBackground(plot: uPlot, { series, window }: Buckets, colors: PlotColors): void {
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

/** At the top, over everything: a solid cap for each bucket with failures. */
export function drawCaps(plot: uPlot, { series, window }: Buckets, colors: PlotColors): void {
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
  // Lines of one lattice for all columns, so that neighbours join.
  const first = Math.floor((left - bbox.height) / spacing) * spacing;
  for (let x = first; x < left + width; x += spacing) {
    ctx.moveTo(x, bbox.top + bbox.height);
    ctx.lineTo(x + bbox.height, bbox.top);
  }
  ctx.stroke();
  ctx.restore();
}
