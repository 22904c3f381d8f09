import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { Incident } from '@tocsin/contracts/incidents/incident';
import type { MonitorOverview } from '@tocsin/contracts/monitors/overview';
import { monitorsQuery } from '../monitors/queries.ts';
import { shownStatus } from '../monitors/shown-status.ts';
import { MAX_OPEN_INCIDENTS, openIncidentsQuery } from './queries.ts';

type Listed = Pick<MonitorOverview, 'id' | 'enabled' | 'status'>;

function countDown(monitors: readonly Listed[]): number {
  return monitors.filter((monitor) => shownStatus(monitor) === 'DOWN').length;
}

/**
 * Returns how many monitors are down. The number is shown in the tab's title and icon, next to "Incidents", and at `DOWN` in the list.
 * A monitor that is paused or in maintenance is not down, even if it fails or its incident is still open, because nobody is alerted about it.
 *
 * While the list is unknown or outdated, open incidents count in its place, except those of monitors that were last paused or in maintenance.
 */
export function downCount(
  monitors: readonly Listed[] | undefined,
  isOutdated: boolean,
  incidents: readonly Pick<Incident, 'monitorId'>[] = [],
): number {
  const areAll = incidents.length < MAX_OPEN_INCIDENTS;
  if (monitors !== undefined && (!isOutdated || !areAll)) return countDown(monitors);
  const silenced = new Set(silencedOf(monitors ?? []));
  return incidents.filter(({ monitorId }) => !silenced.has(monitorId)).length;
}

/** Monitors that alert nobody. */
export function silencedOf(monitors: readonly Listed[]): readonly string[] {
  return monitors.flatMap(({ id, enabled, status }) => (!enabled || status === 'MAINTENANCE' ? [id] : []));
}

/** Rerenders only when the count changes. */
export function useDownCount(): number {
  const queryClient = useQueryClient();
  const { isStale } = useQuery({
    ...monitorsQuery,
    enabled: false,
    select: countDown,
    notifyOnChangeProps: ['data', 'isStale'],
  });
  const { data: incidents } = useQuery(openIncidentsQuery);
  return downCount(queryClient.getQueryData(monitorsQuery.queryKey), isStale, incidents);
}
