import { type ReactNode, useEffect } from 'react';
import { useTitlePrefix } from '../components/page-title.ts';
import { useDownCount } from '../incidents/down-count.ts';
import { useIsNotLive } from '../live/live-status.tsx';

const MAX_SHOWN = 99;
const RED = '#c92a2a';
const GRAY = '#5c636a';

/** Shows the number of monitors that are down, or that the page is not live, in the title and icon of the tab. */
export function StatusInTab(): ReactNode {
  const down = useDownCount();
  const isNotLive = useIsNotLive();
  useTitlePrefix(isNotLive ? '(not live) ' : down > 0 ? `(${down}) ` : '');
  const icon = isNotLive
    ? drawIcon(GRAY, '?')
    : down > 0
      ? drawIcon(RED, down > MAX_SHOWN ? '99+' : `${down}`)
      : null;
  useEffect(() => {
    const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
    if (link !== null) link.href = icon ?? '/favicon.svg';
    return () => {
      if (link !== null) link.href = '/favicon.svg';
    };
  }, [icon]);
  return null;
}

/** Returns a data URL instead of a file, because the server may be unreachable. */
function drawIcon(color: string, text: string): string {
  const size = [22, 22, 18, 14][text.length] ?? 14;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="${color}"/><text x="16" y="17" font-family="sans-serif" font-size="${size}" font-weight="700" text-anchor="middle" dominant-baseline="central" fill="#fff">${text}</text></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}
