import type { QueryClient } from '@tanstack/react-query';
import type { Incident } from '@tocsin/contracts/incidents/incident';
import type { MonitorOverview } from '@tocsin/contracts/monitors/overview';
import { monitorsQuery } from '../monitors/queries.ts';
import type { LiveStream } from './live-stream.ts';
import type { Reloader } from './reloader.ts';

/** Shows acknowledgements and notes of others at once, wherever the incident is. @returns a function that stops it */
export function followIncidents(
  stream: Pick<LiveStream, 'onIncident'>,
  queryClient: QueryClient,
  reloader: Pick<Reloader, 'reload' | 'repeat'>,
): () => void {
  return stream.onIncident((incident) => {
    const { queryKey } = monitorsQuery;
    const list = queryClient.getQueryState(queryKey);
    if (list?.data !== undefined) {
      const data = updateIncident(list.data, incident);
      queryClient.setQueryData(queryKey, data, { updatedAt: list.dataUpdatedAt });
      // Setting the data clears the invalidation.
      if (list.isInvalidated) void queryClient.invalidateQueries({ queryKey, refetchType: 'none' });
    }
    // A list that is being read may not have the change yet.
    reloader.repeat({ queryKey });
    reloader.reload({ queryKey: ['incidents'] });
  });
}

/** Applies an incident to the list of monitors. Unchanged rows stay the same objects. */
export function updateIncident<Row extends Pick<MonitorOverview, 'id' | 'incident'>>(
  monitors: readonly Row[],
  { id, monitorId, openedAt, acknowledgedAt, acknowledgedBy, resolvedAt }: Incident,
): Row[] {
  const open = { id, openedAt, acknowledgedAt, acknowledgedBy: acknowledgedBy?.name ?? null };
  return monitors.map((monitor) => {
    if (monitor.id !== monitorId) return monitor;
    if (resolvedAt === null) return { ...monitor, incident: open };
    return monitor.incident?.id === id ? { ...monitor, incident: null } : monitor;
  });
}
