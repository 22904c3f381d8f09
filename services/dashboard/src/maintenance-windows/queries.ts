import { queryOptions, skipToken, useQueryClient } from '@tanstack/react-query';
import type {
  ListedMaintenanceWindow,
  MaintenanceWindow,
  MaintenanceWindowState,
} from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { request } from '../api/request.ts';

const PATH = '/api/dashboard/maintenance-windows';
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
  /** The window to leave out of the overlaps, since it is being edited. */
  readonly maintenanceWindowId?: string;
}

export interface Preview {
  /** The next ones that have not ended. */
  readonly occurrences: readonly { readonly startsAt: string; readonly endsAt: string }[];
  /** Other windows with occurrences at the same time on the same monitors. */
  readonly overlaps: readonly {
    readonly maintenanceWindowId: string;
    readonly name: string;
    /** When both are running for the first time. */
    readonly startsAt: string;
    readonly monitorCount: number;
  }[];
}

/** All windows of the account, newest first. */
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

// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the library infers the type of the response from it
export const windowQuery = (id: string) =>
  queryOptions({
    queryKey: ['maintenance-window', id],
    queryFn: async ({ signal }) =>
      (await request<{ maintenanceWindow: MaintenanceWindow }>('GET', `${PATH}/${id}`, { signal }))
        .maintenanceWindow,
    refetchInterval: REFRESH_MS,
  });

/** What a window would do. @param body null: nothing to ask for yet */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- as above
export const previewQuery = (body: PreviewBody | null) =>
  queryOptions({
    queryKey: ['maintenance-window-preview', body],
    queryFn:
      body === null
        ? skipToken
        : ({ signal }) => request<Preview>('POST', `${PATH}/preview`, { body, signal }),
    // While people type, each preview is shown once.
    gcTime: 0,
  });

export async function createWindow(body: WindowBody): Promise<MaintenanceWindow> {
  return (await request<{ maintenanceWindow: MaintenanceWindow }>('POST', PATH, { body })).maintenanceWindow;
}

export async function updateWindow(id: string, body: Partial<WindowBody>): Promise<MaintenanceWindow> {
  return (await request<{ maintenanceWindow: MaintenanceWindow }>('PATCH', `${PATH}/${id}`, { body }))
    .maintenanceWindow;
}

/** Ends the running occurrence. */
export async function endMaintenance(id: string): Promise<MaintenanceWindow> {
  return (await request<{ maintenanceWindow: MaintenanceWindow }>('POST', `${PATH}/${id}/end`))
    .maintenanceWindow;
}

export async function deleteWindow(id: string): Promise<void> {
  await request('DELETE', `${PATH}/${id}`);
}

/** @returns a function that shows the new state of a window on every page */
export function useWindowChanged(): (window: MaintenanceWindow) => void {
  const queryClient = useQueryClient();
  return (window) => {
    queryClient.setQueryData(windowQuery(window.id).queryKey, window);
    void queryClient.invalidateQueries({ queryKey: windowsQuery.queryKey });
  };
}

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
