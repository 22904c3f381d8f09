import { setTimeout as wait } from 'node:timers/promises';
import type { RedeliveryResult } from '@tocsin/contracts/deliveries/delivery';
import { until } from '@tocsin/embedded/testing/until';
import { replicasOf, type Scene } from '../faults/scene.ts';
import type { World } from './world-plan.ts';
import type { WorldScene } from './world-scene.ts';
import {
  CHANNELS_PATH,
  createMonitor,
  MONITORS_PATH,
  urlOf,
  windowIds,
  WINDOWS_PATH,
  write,
} from './writes.ts';

/** Allowance for the difference between clocks after the start of a window. */
const STARTED_MS = 500;
const HOUR_MS = 3_600_000;

/** Creates the monitors and channels. Resolves when every region has checked its monitors, and all are UP. */
export async function createWorld(scene: WorldScene, world: World, receiverHost?: string): Promise<void> {
  const { api, registry, receivers, stores } = scene;
  for (const plan of world.monitors) await write(scene, createMonitor(scene, plan));
  const unchecked = `select from monitor_regions where last_result_at is null
    union all select from monitors where status <> 'UP' limit 1`;
  const areUp = async (): Promise<boolean> => (await stores.query(unchecked)).length === 0;
  await until('every monitor to be UP', areUp, 600_000);
  for (const plan of world.channels) {
    const response = await api.request('POST', CHANNELS_PATH, {
      name: plan.key,
      url: receivers.url(plan.key, receiverHost),
      monitorIds: (plan.monitors ?? []).map((key) => registry.monitor(key).id),
      allMonitors: plan.monitors === null,
      ...plan.scope,
    });
    if (response.status !== 201) throw new Error(`channel ${plan.key}: ${JSON.stringify(response)}`);
    const { channel, secret } = response.body as { channel: { id: string }; secret: string };
    registry.channels.push({ id: channel.id, secret, plan, rescoped: [] });
  }
}

/**
 * Triggers a check once, and ignores the response. The oracle evaluates the event. Never throws.
 * @param override checks another URL of the target, so the result does not count
 */
export async function trigger(scene: Scene, key: string, override: boolean): Promise<void> {
  const replica = replicasOf(scene, 'api').find(({ isReady }) => isReady);
  if (replica === undefined) return;
  const { id, plan } = scene.registry.monitor(key);
  const body = override ? { url: urlOf(scene, plan, 0) } : undefined;
  await scene.api.send(replica, 'POST', `${MONITORS_PATH}/${id}/trigger`, body).catch(() => undefined);
}

/** Enables a channel, and redelivers everything that it has not received. */
export async function enableChannel({ api }: Scene, channelId: string): Promise<void> {
  await api.request('PATCH', `${CHANNELS_PATH}/${channelId}`, { enabled: true });
  const range = {
    since: new Date(Date.now() - HOUR_MS).toISOString(),
    until: new Date(Date.now() + HOUR_MS).toISOString(),
  };
  let result: Partial<RedeliveryResult>;
  do {
    const { body } = await api.request('POST', `${CHANNELS_PATH}/${channelId}/redeliver`, range);
    // An error, such as the 409 of a disabled channel, lacks these fields.
    result = body as Partial<RedeliveryResult>;
  } while (result.more && result.count !== 0);
}

/** Ends a window early, or deletes it. Ignores a window that was never planned. */
export async function cutMaintenance(scene: Scene, key: string, how: 'end' | 'delete'): Promise<void> {
  const window = scene.registry.window(key);
  if (window === undefined) return;
  // Only a window that has started can be ended, and earlier calls may have taken long.
  await wait(Math.max(0, window.startsAt + STARTED_MS - Date.now()));
  const cut = { from: Date.now(), until: Infinity };
  window.cut = cut;
  for (const id of await windowIds(scene, key)) {
    if (how === 'end') await scene.api.request('POST', `${WINDOWS_PATH}/${id}/end`);
    else await scene.api.request('DELETE', `${WINDOWS_PATH}/${id}`);
  }
  cut.until = Date.now();
}
