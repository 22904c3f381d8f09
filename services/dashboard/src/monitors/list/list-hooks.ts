import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import type { MonitorOverview } from '@tocsin/contracts/monitors/overview';
import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { useLiveStream } from '../../live/live-provider.tsx';
import { loadRecentChecks, monitorsQuery } from '../queries.ts';
import type { Latencies } from './arrange-monitors.ts';
import { addLatencies, loadLatencies } from './recent-checks.ts';

const monitorsById = new WeakMap<readonly MonitorOverview[], ReadonlyMap<string, MonitorOverview>>();

/** A monitor of the loaded list. The component renders again only when this monitor changes. */
export function useMonitor(id: string): MonitorOverview | undefined {
  const select = useCallback((monitors: readonly MonitorOverview[]) => indexById(monitors).get(id), [id]);
  // Rows mount while scrolling, so only the page loads the list.
  return useQuery({ ...monitorsQuery, select, enabled: false }).data;
}

function indexById(monitors: readonly MonitorOverview[]): ReadonlyMap<string, MonitorOverview> {
  const index = monitorsById.get(monitors) ?? new Map(monitors.map((monitor) => [monitor.id, monitor]));
  monitorsById.set(monitors, index);
  return index;
}

/** Sorting by latency after every check would keep rows moving, so the list is sorted only this often. */
const PUBLISH_EVERY_MS = 10_000;
const NO_LATENCIES: Latencies = new Map();

/** The latencies of all monitors. They are loaded and kept only while `enabled`. */
export function useLatencies(enabled: boolean): Latencies {
  const stream = useLiveStream();
  const queryClient = useQueryClient();
  const [latencies, setLatencies] = useState(NO_LATENCIES);
  useEffect(() => {
    if (!enabled) return undefined;
    const latest = new Map<string, number>();
    const controller = new AbortController();
    const { signal } = controller;
    const publish = (): void => {
      if (!signal.aborted) setLatencies(new Map(latest));
    };
    const load = async (): Promise<void> => {
      const monitors = await queryClient.ensureQueryData(monitorsQuery);
      const ids = monitors.map(({ id }) => id);
      await loadLatencies(latest, ids, loadRecentChecks, signal);
    };
    const unsubscribe = stream.onBatch(({ checks }) => addLatencies(latest, checks));
    const timer = setInterval(publish, PUBLISH_EVERY_MS);
    // After an error the live stream delivers the rest.
    void load()
      .catch(() => undefined)
      .finally(publish);
    return () => {
      controller.abort();
      unsubscribe();
      clearInterval(timer);
      setLatencies(NO_LATENCIES);
    };
  }, [enabled, stream, queryClient]);
  return latencies;
}

/** Rows beyond the screen, for the Tab key and fast scrolling. */
const OVERSCAN = 10;

interface VirtualRows {
  /** For the table around the rows. */
  readonly containerRef: RefObject<HTMLTableElement | null>;
  /** The rows to render. */
  readonly indexes: readonly number[];
  /** The heights of the gaps before and after the rows, in pixels. */
  readonly before: number;
  readonly after: number;
}

/**
 * The rows of a long list that are on screen while the window scrolls.
 * @param rowHeight in pixels, the same for all rows
 */
export function useVirtualRows(count: number, rowHeight: number): VirtualRows {
  const containerRef = useRef<HTMLTableElement>(null);
  const [scrollMargin, setScrollMargin] = useState(0);
  // Content above the list may change its height, and with it that of the body.
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
    estimateSize: () => rowHeight,
    overscan: OVERSCAN,
    scrollMargin,
  });
  const indexes = virtualizer.getVirtualItems().map(({ index }) => index);
  const first = indexes[0] ?? 0;
  const last = indexes.at(-1) ?? -1;
  return {
    containerRef,
    indexes,
    before: first * rowHeight,
    after: Math.max(0, count - 1 - last) * rowHeight,
  };
}
