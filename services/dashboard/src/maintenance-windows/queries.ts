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
  'name' | 'startsAt' | 'endsAt' | 'rrule' | 'timeZone' | 'monitorIds'
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
    let isLast = false;
    while (!isLast && windows.length < MAX_WINDOWS) {
      const before = windows.at(-1)?.id;
      const query = { limit: String(PAGE_SIZE), ...(before !== undefined && { before }) };
      const page = await api('GET /api/dashboard/maintenance-windows', { query, signal });
      windows.push(...page.maintenanceWindows);
      isLast = page.maintenanceWindows.length < PAGE_SIZE;
    }
    return windows;
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

/** What a window would do. @param body null: not enough is known to ask */
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
  const timeOf = (window: ListedMaintenanceWindow): number => {
    if (state === 'ended') return -Date.parse(window.updatedAt);
    const { startsAt, endsAt, currentOccurrence, nextOccurrence } = window;
    return Date.parse(
      state === 'running' ? (currentOccurrence?.endsAt ?? endsAt) : (nextOccurrence?.startsAt ?? startsAt),
    );
  };
  return windows.filter((window) => window.state === state).sort((a, b) => timeOf(a) - timeOf(b));
}
