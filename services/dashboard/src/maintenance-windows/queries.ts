import { queryOptions, useQueryClient } from '@tanstack/react-query';
import type {
  createMaintenanceWindowSchema,
  ListedMaintenanceWindow,
  MaintenanceWindow,
  MaintenanceWindowState,
  updateMaintenanceWindowSchema,
} from '@tocsin/contracts/maintenance-windows/maintenance-window';
import type { z } from 'zod';
import { request } from '../api/request.ts';

const PATH = '/api/dashboard/maintenance-windows';
const PAGE_SIZE = 500;
/** A running window may be an old one, so all windows are loaded, up to this bound. */
export const MAX_WINDOWS = 2_000;
/** The live stream has no events of windows. */
const REFRESH_MS = 15_000;

export type WindowBody = z.input<typeof createMaintenanceWindowSchema>;
export type WindowUpdateBody = z.input<typeof updateMaintenanceWindowSchema>;

/** All windows of the account, the newest first. */
export const windowsQuery = queryOptions({
  queryKey: ['maintenance-windows'],
  queryFn: async ({ signal }) => {
    const windows: ListedMaintenanceWindow[] = [];
    let before = '';
    do {
      const path = `${PATH}?limit=${PAGE_SIZE}${before && `&before=${before}`}`;
      const page = await request<{ maintenanceWindows: ListedMaintenanceWindow[] }>('GET', path, { signal });
      windows.push(...page.maintenanceWindows);
      before = page.maintenanceWindows.length < PAGE_SIZE ? '' : (windows.at(-1)?.id ?? '');
    } while (before !== '' && windows.length < MAX_WINDOWS);
    return windows;
  },
  refetchInterval: REFRESH_MS,
});

/** One window, with its next occurrences. */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the library infers the answer's type from it
export const windowQuery = (id: string) =>
  queryOptions({
    queryKey: ['maintenance-window', id],
    queryFn: async ({ signal }) =>
      (await request<{ maintenanceWindow: MaintenanceWindow }>('GET', `${PATH}/${id}`, { signal }))
        .maintenanceWindow,
    refetchInterval: REFRESH_MS,
  });

export async function createWindow(body: WindowBody): Promise<MaintenanceWindow> {
  return (await request<{ maintenanceWindow: MaintenanceWindow }>('POST', PATH, { body })).maintenanceWindow;
}

export async function updateWindow(id: string, body: WindowUpdateBody): Promise<MaintenanceWindow> {
  return (await request<{ maintenanceWindow: MaintenanceWindow }>('PATCH', `${PATH}/${id}`, { body }))
    .maintenanceWindow;
}

/** Ends what runs now. */
export async function endMaintenance(id: string): Promise<MaintenanceWindow> {
  return (await request<{ maintenanceWindow: MaintenanceWindow }>('POST', `${PATH}/${id}/end`))
    .maintenanceWindow;
}

export async function deleteWindow(id: string): Promise<void> {
  await request('DELETE', `${PATH}/${id}`);
}

/** @returns what shows a window as the server has it now, on every page */
export function useWindowChanged(): (window: MaintenanceWindow) => void {
  const queryClient = useQueryClient();
  return (window) => {
    queryClient.setQueryData(windowQuery(window.id).queryKey, window);
    void queryClient.invalidateQueries({ queryKey: windowsQuery.queryKey });
  };
}

/** Those in a state: what runs by its end, what is to come by its start, what is over by its last change, the latest first. */
export function sortWindows(
  windows: readonly ListedMaintenanceWindow[],
  state: MaintenanceWindowState,
): ListedMaintenanceWindow[] {
  const found = windows.filter((window) => window.state === state);
  switch (state) {
    case 'running':
      return found.sort(by((window) => window.currentOccurrence?.endsAt ?? window.endsAt));
    case 'scheduled':
      return found.sort(by((window) => window.nextOccurrence?.startsAt ?? window.startsAt));
    case 'ended':
      return found.sort(by((window) => window.updatedAt)).toReversed();
  }
}

function by(
  time: (window: ListedMaintenanceWindow) => string,
): (a: ListedMaintenanceWindow, b: ListedMaintenanceWindow) => number {
  return (a, b) => Date.parse(time(a)) - Date.parse(time(b));
}
