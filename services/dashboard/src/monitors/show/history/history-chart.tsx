import { VisuallyHidden } from '@mantine/core';
import { type KeyboardEvent, type PointerEvent, type ReactNode, useId, useRef, useState } from 'react';
import type { History } from '../../queries.ts';
import { phaseColors } from '../phases.tsx';
import classes from './history.module.css';
import { boundsOf, LatencyPlot } from './latency-plot.tsx';
import { type Axis, describeRange, timeAt, timeTicks, zoomIn, zoomOut, zoomTo } from './period.ts';
import { describeState, latencyTop, type PlotView, stateAt, stateCause } from './plot-data.ts';
import { StateStrip } from './state-strip.tsx';
import { BucketTooltip, StateTooltip } from './tooltips.tsx';

/** Shorter drags count as clicks. In pixels. */
const MIN_DRAG = 6;

interface Pointed {
  /** Epoch milliseconds. */
  readonly time: number;
  /** Milliseconds per pixel. */
  readonly pixelMs: number;
  readonly onStates: boolean;
}

interface HistoryChartProps {
  readonly history: History;
  readonly view: PlotView;
  /** Describes the latency for screen readers. */
  readonly label: string;
  readonly onZoom: (period: { from: string; to: string }) => void;
}

/** States and latency on one time axis. Dragging and keyboard shortcuts zoom. */
export function HistoryChart({ history, view, label, onZoom }: HistoryChartProps): ReactNode {
  const { stats, states } = history;
  const axis: Axis = { from: Date.parse(states.from), to: Date.parse(states.to) };
  const area = useRef<HTMLDivElement>(null);
  const hintId = useId();
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const [focused, setFocused] = useState<number | null>(null);
  const [drag, setDrag] = useState<{ readonly from: number; readonly to: number } | null>(null);

  const partAt = ({ clientX }: PointerEvent): number => {
    const box = area.current?.getBoundingClientRect();
    return box === undefined ? 0 : Math.min(Math.max((clientX - box.left) / box.width, 0), 1);
  };
  const zoom = (zoomed: { from: string; to: string } | null): void => {
    if (zoomed !== null) onZoom(zoomed);
  };
  const finishDrag = (event: PointerEvent): void => {
    const width = area.current?.offsetWidth ?? 0;
    if (drag !== null && Math.abs(drag.to - drag.from) * width >= MIN_DRAG)
      zoom(zoomTo(axis, timeAt(axis, drag.from), timeAt(axis, partAt(event)), axis.to));
    setDrag(null);
  };
  const pointedState =
    pointed?.onStates === true ? stateAt(states.periods, pointed.time, pointed.pixelMs) : (focused ?? -1);
  const bucket =
    pointed?.onStates === false && stats.series.find((one) => isAt(pointed.time, ...boundsOf(one, stats)));
  const period = states.periods[pointedState];

  const onKeyDown = (event: KeyboardEvent): void => {
    const last = states.periods.length - 1;
    const index = Math.min(focused ?? last, last);
    const own = states.periods[index];
    if (own === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const [from, to] = [Date.parse(own.from), Date.parse(own.to)];
    const padding = (to - from) / 2;
    const actions: Readonly<Record<string, () => void>> = {
      ArrowLeft: () => setFocused(Math.max(index - 1, 0)),
      ArrowRight: () => setFocused(Math.min(index + 1, last)),
      Home: () => setFocused(0),
      End: () => setFocused(last),
      Enter: () => zoom(zoomTo(axis, from - padding, Math.min(to + padding, axis.to), axis.to)),
      '+': () => zoom(zoomIn(axis, (from + to) / 2, axis.to)),
      '-': () => onZoom(zoomOut(axis, Date.now())),
    };
    const action = actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  };

  const top = latencyTop(stats.series, view);
  const index = Math.min(focused ?? states.periods.length - 1, states.periods.length - 1);
  const described = states.periods[index];
  return (
    <div className={`${phaseColors} ${classes['frame'] ?? ''}`}>
      <div
        ref={area}
        className={classes['area']}
        role="slider"
        tabIndex={0}
        aria-label="Status over time"
        aria-describedby={hintId}
        aria-valuemin={1}
        aria-valuemax={states.periods.length}
        aria-valuenow={index + 1}
        aria-valuetext={described && describeForReaders(described)}
        onKeyDown={onKeyDown}
        onFocus={(event) => {
          if (event.currentTarget.matches(':focus-visible')) setFocused(index);
        }}
        onBlur={() => setFocused(null)}
        onPointerLeave={() => setPointed(null)}
        onPointerDown={(event) => {
          if (event.button !== 0 || event.pointerType === 'touch') return;
          event.currentTarget.setPointerCapture(event.pointerId);
          setDrag({ from: partAt(event), to: partAt(event) });
        }}
        onPointerMove={(event) => {
          const part = partAt(event);
          const strip = area.current?.firstElementChild?.getBoundingClientRect();
          setPointed({
            time: timeAt(axis, part),
            pixelMs: (axis.to - axis.from) / (strip?.width ?? 1),
            onStates: event.clientY <= (strip?.bottom ?? 0),
          });
          if (drag !== null) setDrag({ ...drag, to: part });
        }}
        onPointerUp={finishDrag}
        onPointerCancel={() => setDrag(null)}
      >
        <StateStrip
          axis={axis}
          periods={states.periods}
          chosen={period === undefined ? null : pointedState}
        />
        <div className={classes['plot']}>
          <LatencyPlot axis={axis} stats={stats} view={view} top={top} />
        </div>
        {timeTicks(axis).map((tick) => (
          <div key={tick.left} className={classes['timeTick']} style={{ left: `${tick.left}%` }}>
            {tick.label}
          </div>
        ))}
        {drag !== null && (
          <div
            className={classes['drag']}
            style={{
              left: `${Math.min(drag.from, drag.to) * 100}%`,
              width: `${Math.abs(drag.to - drag.from) * 100}%`,
            }}
          />
        )}
        {drag === null && period !== undefined && <StateTooltip axis={axis} period={period} />}
        {drag === null && bucket && <BucketTooltip axis={axis} stats={stats} bucket={bucket} />}
      </div>
      <VisuallyHidden id={hintId}>
        {label} Arrow keys move between statuses. Enter zooms to a status, plus and minus zoom in and out,
        Escape resets.
      </VisuallyHidden>
    </div>
  );
}

function isAt(time: number, from: number, to: number): boolean {
  return time >= from && time < to;
}

function describeForReaders(period: History['states']['periods'][number]): string {
  const cause = stateCause(period);
  const range = describeRange(Date.parse(period.from), Date.parse(period.to), true);
  return `${describeState(period)}, ${range}${cause === null ? '' : `. ${cause}`}`;
}
