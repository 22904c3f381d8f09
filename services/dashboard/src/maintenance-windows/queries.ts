import { queryOptions, skipToken } from '@tanstack/react-query';
import type {
  ListedMaintenanceWindow,
  MaintenanceWindow,
  MaintenanceWindowState,
} from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { api } from '../api/request.ts';

const PAGE_SIZE = 500;
/** All windows are loaded up to this number, because a running window may be old. */
export const MAX_WINDOWS = 2_000;
/** The live stream does not deliver windows. */
const REFRESH_MS = 15_000;

/** User-defined fields of a window. */
export type WindowBody = Pick<
  MaintenanceWindow,
  'name' | 'startsAt' | 'endsAt' | 'rrule' | 'timeZone' | 'monitorIds' | 'allMonitors' | 'selector'
>;

export interface PreviewBody extends Omit<WindowBody, 'name'> {
  /** The edited window, which does not overlap with itself. */
  readonly maintenanceWindowId?: string;
}

/** All windows of the account, newest first. */
export const windowsQuery = queryOptions({
  queryKey: ['maintenance-windows'],
  queryFn: async ({ signal }) => {
    const windows: ListedMaintenanceWindow[] = [];
    for (;;) {
      const query = { limit: String(PAGE_SIZE), before: windows.at(-1)?.id };
      const { maintenanceWindows } = await api('GET /api/dashboard/maintenance-windows', { query, signal });
      windows.push(...maintenanceWindows);
      if (maintenanceWindows.length < PAGE_SIZE || windows.length >= MAX_WINDOWS) return windows;
    }
  },
  refetchInterval: REFRESH_MS,
});

export const windowQuery = (id: string) =>
  queryOptions({
    queryKey: ['maintenance-window', id],
    queryFn: async ({ signal }) =>
      (await api('GET /api/dashboard/maintenance-windows/:id', { id, signal })).maintenanceWindow,
    refetchInterval: REFRESH_MS,
  });

/** Previews a window. @param body null while required fields are missing */
export const previewQuery = (body: PreviewBody | null) =>
  queryOptions({
    queryKey: ['maintenance-window-preview', body],
    queryFn:
      body === null
        ? skipToken
        : ({ signal }) => api('POST /api/dashboard/maintenance-windows/preview', { body, signal }),
    // During typing, each preview is shown only once.
    gcTime: 0,
  });

/** Windows in a state. Sorts running windows by end, scheduled ones by start, and ended ones by latest change. */
export function sortWindows(
  windows: readonly ListedMaintenanceWindow[],
  state: MaintenanceWindowState,
): ListedMaintenanceWindow[] {
  const timeOf = {
    running: (window: ListedMaintenanceWindow) =>
      Date.parse(window.currentOccurrence?.endsAt ?? window.endsAt),
    scheduled: (window: ListedMaintenanceWindow) =>
      Date.parse(window.nextOccurrence?.startsAt ?? window.startsAt),
    ended: (window: ListedMaintenanceWindow) => -Date.parse(window.updatedAt),
  }[state];
  return windows.filter((window) => window.state === state).sort((a, b) => timeOf(a) - timeOf(b));
}
