import { setTimeout as wait } from 'node:timers/promises';
import type { WindowSpan } from './registry.ts';
import type { Scene } from './scene.ts';

export const WINDOWS_PATH = '/api/dashboard/maintenance-windows';
/** It has begun so long after its start, by any clock of this machine. */
const BEGUN_MS = 500;
/** More than a campaign makes. */
const LISTED = 200;

/** What the API takes to plan maintenance. */
export function maintenanceFields({ registry }: Scene, window: WindowSpan): object {
  return {
    name: window.key,
    startsAt: new Date(window.startsAt).toISOString(),
    endsAt: new Date(window.endsAt).toISOString(),
    monitorIds: window.monitors.map((key) => registry.monitor(key).id),
  };
}

/** Plans maintenance. A try that was not answered may have planned it too: then there are two windows of that name and span. */
export async function planMaintenance(scene: Scene, window: WindowSpan): Promise<void> {
  const { status } = await scene.api.request('POST', WINDOWS_PATH, maintenanceFields(scene, window));
  // Asked for too late, it is refused; an earlier try may have been in time.
  if (status === 201 || (await idsOf(scene, window.key)).length > 0) scene.registry.addWindow(window);
  else if (Date.now() < window.endsAt) throw new Error(`maintenance ${window.key}: ${status}`);
}

/** Ends a window before its time, or deletes it; one that was never planned is left. */
export async function cutMaintenance(scene: Scene, key: string, how: 'end' | 'delete'): Promise<void> {
  const window = scene.registry.windows.find((one) => one.key === key);
  if (window === undefined) return;
  // One that has not begun cannot be ended: the calls before this one may have taken long.
  await wait(Math.max(0, window.startsAt + BEGUN_MS - Date.now()));
  const cut = { from: Date.now(), until: Infinity };
  window.cut = cut;
  for (const id of await idsOf(scene, key)) {
    if (how === 'end') await scene.api.request('POST', `${WINDOWS_PATH}/${id}/end`);
    else await scene.api.request('DELETE', `${WINDOWS_PATH}/${id}`);
  }
  cut.until = Date.now();
}

async function idsOf({ api }: Scene, name: string): Promise<string[]> {
  const { body } = await api.request('GET', `${WINDOWS_PATH}?limit=${LISTED}`);
  const { maintenanceWindows } = body as { maintenanceWindows: { id: string; name: string }[] };
  return maintenanceWindows.filter((window) => window.name === name).map(({ id }) => id);
}
