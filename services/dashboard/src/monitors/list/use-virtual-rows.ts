import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { useLayoutEffect, useRef, useState, type RefObject } from 'react';

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
