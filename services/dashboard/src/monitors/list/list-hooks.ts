import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { useLiveStream } from '../../live/live-provider.tsx';
import { loadRecentChecks, monitorsQuery } from '../queries.ts';
import type { Latencies } from './arrange-monitors.ts';
import { LatestLatencies } from './recent-checks.ts';

const indexes = new WeakMap<readonly Monitor[], ReadonlyMap<string, Monitor>>();

/** One monitor of the loaded list; what shows it is drawn again only when this one changes. */
export function useMonitor(id: string): Monitor | undefined {
  const select = useCallback((monitors: readonly Monitor[]) => indexById(monitors).get(id), [id]);
  // Rows come and go as one scrolls: the page alone decides when the list is loaded again.
  return useQuery({ ...monitorsQuery, select, enabled: false }).data;
}

function indexById(monitors: readonly Monitor[]): ReadonlyMap<string, Monitor> {
  const known = indexes.get(monitors);
  if (known !== undefined) return known;
  const index = new Map(monitors.map((monitor) => [monitor.id, monitor]));
  indexes.set(monitors, index);
  return index;
}

/** A list by latency would never stand still: it is sorted anew only so often. */
const PUBLISH_EVERY_MS = 10_000;
const NONE: Latencies = new Map();

/** The latencies to sort all monitors by; loaded and kept only while `isWanted`. */
export function useLatencies(isWanted: boolean): Latencies {
  const stream = useLiveStream();
  const queryClient = useQueryClient();
  const [latencies, setLatencies] = useState(NONE);
  useEffect(() => {
    if (!isWanted) return undefined;
    const latest = new LatestLatencies();
    const left = new AbortController();
    const publish = (): void => {
      if (!left.signal.aborted) setLatencies(latest.publish());
    };
    const leave = stream.onBatch(({ checks }) => latest.add(checks));
    const timer = setInterval(publish, PUBLISH_EVERY_MS);
    void queryClient
      .ensureQueryData(monitorsQuery)
      .then((monitors) =>
        latest.load(
          monitors.map(({ id }) => id),
          loadRecentChecks,
          left.signal,
        ),
      )
      // What is missing, the stream brings.
      .catch(() => undefined)
      .finally(publish);
    return () => {
      left.abort();
      leave();
      clearInterval(timer);
      setLatencies(NONE);
    };
  }, [isWanted, stream, queryClient]);
  return latencies;
}

/** Rows beyond the screen, so that the Tab key and quick scrolling find them. */
const OVERSCAN = 10;

interface VirtualRows<Container extends HTMLElement> {
  /** For what holds the rows. */
  readonly containerRef: RefObject<Container | null>;
  /** The rows to draw. */
  readonly indexes: readonly number[];
  /** Pixels to leave free before and after them. */
  readonly before: number;
  readonly after: number;
}

/**
 * Which rows of a long list are on screen, as the window scrolls.
 * @param rowHeight in pixels, the same for all
 */
export function useVirtualRows<Container extends HTMLElement>(
  count: number,
  rowHeight: number,
): VirtualRows<Container> {
  const containerRef = useRef<Container>(null);
  const [scrollMargin, setScrollMargin] = useState(0);
  // What stands above may change its height at any time, and with it that of the page.
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => {
      const top = containerRef.current?.getBoundingClientRect().top;
      if (top !== undefined) setScrollMargin(Math.round(top + window.scrollY));
    });
    observer.observe(document.body);
    return () => observer.disconnect();
  }, []);
  // oxlint-disable-next-line react/incompatible-library -- what is read of it is read anew at each rendering
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
