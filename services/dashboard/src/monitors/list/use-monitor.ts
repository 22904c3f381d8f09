import { useQuery } from '@tanstack/react-query';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { useCallback } from 'react';
import { monitorsQuery } from '../queries.ts';

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
