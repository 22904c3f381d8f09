import type { QueryClient, QueryFilters } from '@tanstack/react-query';
import type { Incident } from '@tocsin/contracts/incidents/incident';
import type { MonitorOverview } from '@tocsin/contracts/monitors/overview';
import { monitorsQuery } from '../monitors/queries.ts';
import type { LiveStream } from './live-stream.ts';

/** See `Reloader`. */
interface Reloads {
  reload(filters: QueryFilters): void;
  repeat(filters: QueryFilters): void;
}

/** Shows acknowledgements and notes of others at once, wherever the incident is. @returns a function that stops it */
export function followIncidents(
  stream: Pick<LiveStream, 'onIncident'>,
  queryClient: QueryClient,
  reloader: Reloads,
): () => void {
  return stream.onIncident((incident) => {
    const { queryKey } = monitorsQuery;
    const list = queryClient.getQueryState(queryKey);
    if (list?.data !== undefined)
      queryClient.setQueryData(queryKey, updateIncident(list.data, incident), {
        updatedAt: list.dataUpdatedAt,
      });
    // A list that is being read may not have the change yet.
    reloader.repeat({ queryKey });
    reloader.reload({ queryKey: ['incidents'] });
  });
}

/** Applies an incident to the list of monitors. Unchanged rows stay the same objects. */
export function updateIncident<Row extends Pick<MonitorOverview, 'incident'>>(
  monitors: readonly Row[],
  { id, openedAt, acknowledgedAt, acknowledgedBy, resolvedAt }: Incident,
): Row[] {
  const incident =
    resolvedAt === null
      ? { id, openedAt, acknowledgedAt, acknowledgedBy: acknowledgedBy?.name ?? null }
      : null;
  return monitors.map((monitor) => (monitor.incident?.id === id ? { ...monitor, incident } : monitor));
}
