import { queryOptions, skipToken } from '@tanstack/react-query';
import type {
  ListedMaintenanceWindow,
  MaintenanceWindow,
  MaintenanceWindowState,
} from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { api } from '../api/request.ts';

const PAGE_SIZE = 500;
/** A running window may be an old one, so all windows are loaded, up to this bound. */
export const MAX_WINDOWS = 2_000;
/** The live stream has no events of windows. */
const REFRESH_MS = 15_000;

/** The fields of a window that people choose. */
export type WindowBody = Pick<
  MaintenanceWindow,
  'name' | 'startsAt' | 'endsAt' | 'rrule' | 'timeZone' | 'monitorIds' | 'allMonitors' | 'selector'
>;

export interface PreviewBody extends Omit<WindowBody, 'name'> {
  /** The window that is being edited, which does not overlap with itself. */
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

/** What a window would do. @param body null while required fields are missing */
export const previewQuery = (body: PreviewBody | null) =>
  queryOptions({
    queryKey: ['maintenance-window-preview', body],
    queryFn:
      body === null
        ? skipToken
        : ({ signal }) => api('POST /api/dashboard/maintenance-windows/preview', { body, signal }),
    // While people type, each preview is shown once.
    gcTime: 0,
  });

/** The windows in a state: running ones by their end, scheduled ones by their start, ended ones by the latest change. */
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
