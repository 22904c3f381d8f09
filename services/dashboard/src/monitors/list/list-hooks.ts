import { useQuery } from '@tanstack/react-query';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import type { MonitorLatency } from '@tocsin/contracts/monitors/bulk-routes';
import type { MonitorOverview } from '@tocsin/contracts/monitors/overview';
import { type RefCallback, type RefObject, useCallback, useLayoutEffect, useRef, useState } from 'react';
import { latenciesQuery, monitorsQuery } from '../queries.ts';
import type { Latencies } from './sort-monitors.ts';

const monitorsById = new WeakMap<readonly MonitorOverview[], ReadonlyMap<string, MonitorOverview>>();

/** A monitor in the cached list. The component rerenders only when this monitor changes. */
export function useMonitor(id: string): MonitorOverview | undefined {
  const select = useCallback((monitors: readonly MonitorOverview[]) => indexById(monitors).get(id), [id]);
  // Only the page loads the list, because rows mount during scrolling.
  return useQuery({ ...monitorsQuery, select, enabled: false }).data;
}

function indexById(monitors: readonly MonitorOverview[]): ReadonlyMap<string, MonitorOverview> {
  const index = monitorsById.get(monitors) ?? new Map(monitors.map((monitor) => [monitor.id, monitor]));
  monitorsById.set(monitors, index);
  return index;
}

const toLatencies = (list: readonly MonitorLatency[]): Latencies =>
  new Map(list.map(({ monitorId, p95, p99 }) => [monitorId, { p95, p99 }]));
const NO_LATENCIES: Latencies = new Map();

/** Latencies of all monitors, loaded only while `enabled`. */
export function useLatencies(enabled: boolean): Latencies {
  return useQuery({ ...latenciesQuery, select: toLatencies, enabled }).data ?? NO_LATENCIES;
}

/** Width of an element in pixels, or null before it is measured. */
export function useWidth(): readonly [ref: RefCallback<HTMLElement>, width: number | null] {
  const [width, setWidth] = useState<number | null>(null);
  const ref = useCallback((element: HTMLElement | null) => {
    if (element === null) return undefined;
    const measure = (): void => setWidth(element.clientWidth);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}

/** Rows rendered beyond the viewport, for the Tab key and fast scrolling. */
const OVERSCAN = 10;

interface VirtualRows {
  readonly containerRef: RefObject<HTMLTableElement | null>;
  readonly indexes: readonly number[];
  /** Heights of the gaps around the rows in pixels. */
  readonly before: number;
  readonly after: number;
}

/**
 * The visible rows of a long list in a scrolling window.
 * @param heightOf returns the height of a row in pixels. The function must be stable until heights change
 */
export function useVirtualRows(count: number, heightOf: (index: number) => number): VirtualRows {
  const containerRef = useRef<HTMLTableElement>(null);
  const [scrollMargin, setScrollMargin] = useState(0);
  // Content above the list may change its height, which resizes the body.
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => {
      const top = containerRef.current?.getBoundingClientRect().top;
      if (top !== undefined) setScrollMargin(Math.round(top + window.scrollY));
    });
    observer.observe(document.body);
    return () => observer.disconnect();
  }, []);
  // oxlint-disable-next-line react/incompatible-library -- its values are read on every render
  const virtualizer = useWindowVirtualizer({
    count,
    estimateSize: heightOf,
    overscan: OVERSCAN,
    scrollMargin,
  });
  // The virtualizer caches heights.
  useLayoutEffect(() => virtualizer.measure(), [virtualizer, heightOf]);
  const items = virtualizer.getVirtualItems();
  return {
    containerRef,
    indexes: items.map(({ index }) => index),
    before: (items[0]?.start ?? scrollMargin) - scrollMargin,
    after: Math.max(0, virtualizer.getTotalSize() + scrollMargin - (items.at(-1)?.end ?? 0)),
  };
}
