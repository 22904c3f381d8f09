import { setTimeout as wait } from 'node:timers/promises';
import type { RedeliveryResult } from '@tocsin/contracts/deliveries/delivery';
import { until } from '@tocsin/embedded/testing/until';
import type { Scene } from '../faults/scene.ts';
import { TARGETS_NAME } from '../world/targets.ts';
import type { PlannedCall } from './calls-plan.ts';
import { noteEdit, type WindowSpan } from './registry.ts';
import type { MonitorPlan, World } from './world-plan.ts';
import type { WorldScene } from './world-scene.ts';

export const WINDOWS_PATH = '/api/dashboard/maintenance-windows';
const MONITORS_PATH = '/api/cli/monitors';
export const CHANNELS_PATH = '/api/dashboard/channels';
/** Time from a planned call to the start of its maintenance. */
const MAINTENANCE_IN_MS = 2_000;
/** Allowance for the difference between clocks after the start of a window. */
const STARTED_MS = 500;
/** Exceeds the number of windows that a campaign plans. */
const LIST_LIMIT = 200;
const HOUR_MS = 3_600_000;

interface ListedMonitor {
  readonly id: string;
  readonly name: string;
  readonly createdAt: string;
  readonly externalId: string;
  readonly status: string;
}

/** Creates the monitors and channels. Resolves when every region has checked its monitors, and all are UP. */
export async function createWorld(scene: WorldScene, world: World, receiverHost?: string): Promise<void> {
  const { api, registry, receivers, stores } = scene;
  for (const plan of world.monitors) registry.add(plan, await createMonitor(scene, plan));
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

export function monitorFields(scene: WorldScene, plan: MonitorPlan): object {
  return {
    name: plan.key,
    externalId: plan.key,
    url: urlOf(scene, plan),
    interval: plan.intervalSeconds,
    timeout: plan.timeoutSeconds,
    failureThreshold: plan.failureThreshold,
    retryInterval: plan.retryIntervalSeconds,
    recoveryThreshold: plan.recoveryThreshold,
    regions: plan.regions,
    labels: plan.labels,
  };
}

function urlOf({ targets, hostOf }: WorldScene, plan: MonitorPlan, version?: number): string {
  const host = hostOf?.(plan) ?? (plan.byName ? TARGETS_NAME : undefined);
  return targets.url(plan.key, host, version);
}

/** Creates a monitor, or finds the one that an earlier request created. */
export async function createMonitor(scene: WorldScene, plan: MonitorPlan): Promise<ListedMonitor> {
  const response = await scene.api.request('POST', MONITORS_PATH, monitorFields(scene, plan));
  if (response.status === 201) return (response.body as { monitor: ListedMonitor }).monitor;
  const known = (await listMonitors(scene)).find(({ externalId }) => externalId === plan.key);
  if (known === undefined) throw new Error(`monitor ${plan.key}: ${JSON.stringify(response)}`);
  return known;
}

export async function listMonitors({ api }: WorldScene): Promise<readonly ListedMonitor[]> {
  const { body } = await api.request('GET', MONITORS_PATH);
  return (body as { monitors: ListedMonitor[] }).monitors;
}

/** Sends the planned calls one after the other at their times, and repeats each until it has a response. */
export async function sendCalls(
  scene: Scene,
  calls: readonly PlannedCall[],
  startedAt: number,
): Promise<void> {
  for (const call of calls) {
    await wait(Math.max(0, startedAt + call.atMs - Date.now()));
    await send(scene, call);
  }
}

async function send(scene: Scene, call: PlannedCall): Promise<void> {
  const { api, registry } = scene;
  switch (call.type) {
    case 'rename':
      registry.monitor(call.monitor).names.push(call.name);
      await update(scene, call.monitor, { name: call.name });
      return;
    case 'tune': {
      const { thresholds, plan } = registry.monitor(call.monitor);
      const { failureThreshold: value } = call;
      const before = thresholds.at(-1)?.value ?? plan.failureThreshold;
      const updatedAt = await update(scene, call.monitor, { failureThreshold: value });
      if (value !== before) thresholds.push({ at: Date.parse(updatedAt), value });
      return;
    }
    case 'move': {
      const url = urlOf(scene, registry.monitor(call.monitor).plan, call.version);
      await update(scene, call.monitor, { url });
      return;
    }
    case 'relabel': {
      const confirm = noteEdit(registry.monitor(call.monitor).relabeled, call.labels);
      await update(scene, call.monitor, { labels: call.labels });
      return confirm();
    }
    case 'rescope': {
      const { id, rescoped } = registry.channel(call.channel);
      const confirm = noteEdit(rescoped, call.scope);
      const { status, body } = await api.request('PATCH', `${CHANNELS_PATH}/${id}`, call.scope);
      if (status !== 200) throw new Error(`update of ${call.channel}: ${status} ${JSON.stringify(body)}`);
      return confirm();
    }
    case 'trigger':
      return trigger(scene, call.monitor, call.override);
    case 'delete': {
      const monitor = registry.monitor(call.monitor);
      monitor.deletedAt = Date.now();
      await api.request('DELETE', `${MONITORS_PATH}/${monitor.id}`);
      return;
    }
    case 'disable':
      await api.request('PATCH', `${CHANNELS_PATH}/${registry.channel(call.channel).id}`, { enabled: false });
      return;
    case 'enable':
      return enableChannel(scene, registry.channel(call.channel).id);
    case 'maintain': {
      const startsAt = Date.now() + MAINTENANCE_IN_MS;
      const { window: key, monitors, lastsMs } = call;
      return planMaintenance(scene, { key, monitors, startsAt, endsAt: startsAt + lastsMs });
    }
    case 'end maintenance':
      return cutMaintenance(scene, call.window, 'end');
    case 'delete maintenance':
      return cutMaintenance(scene, call.window, 'delete');
  }
}

/** Returns `updatedAt` according to the clock of Postgres. */
async function update({ api, registry }: Scene, key: string, fields: object): Promise<string> {
  const { id } = registry.monitor(key);
  const { status, body } = await api.request('PUT', `${MONITORS_PATH}/${id}`, fields);
  if (status !== 200) throw new Error(`update of ${key}: ${status} ${JSON.stringify(body)}`);
  return (body as { monitor: { updatedAt: string } }).monitor.updatedAt;
}

/**
 * Triggers a check once, and ignores the response. The oracle judges the event. Never throws.
 * @param override checks another URL of the target, which does not count
 */
export async function trigger(scene: Scene, key: string, override: boolean): Promise<void> {
  const { api, registry, replicas } = scene;
  const replica = replicas.find(({ plan, isReady }) => plan.service === 'api' && isReady);
  if (replica === undefined) return;
  const { id, plan } = registry.monitor(key);
  const body = override ? { url: urlOf(scene, plan, 0) } : undefined;
  await api.send(replica, 'POST', `${MONITORS_PATH}/${id}/trigger`, body).catch(() => undefined);
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

export function maintenanceFields({ registry }: Scene, window: WindowSpan): object {
  return {
    name: window.key,
    startsAt: new Date(window.startsAt).toISOString(),
    endsAt: new Date(window.endsAt).toISOString(),
    monitorIds: window.monitors.map((key) => registry.monitor(key).id),
  };
}

/** Plans maintenance. A request without a response may have planned it, too, so there may be two such windows. */
export async function planMaintenance(scene: Scene, window: WindowSpan): Promise<void> {
  const { status } = await scene.api.request('POST', WINDOWS_PATH, maintenanceFields(scene, window));
  // A late request is rejected, although an earlier one may have been in time.
  if (status === 201 || (await windowIds(scene, window.key)).length > 0) scene.registry.addWindow(window);
  else if (Date.now() < window.endsAt) throw new Error(`maintenance ${window.key}: ${status}`);
}

/** Ends a window early, or deletes it. Ignores a window that was never planned. */
export async function cutMaintenance(scene: Scene, key: string, how: 'end' | 'delete'): Promise<void> {
  const window = scene.registry.window(key);
  if (window === undefined) return;
  // Only a window that has started can be ended. Earlier calls may have taken long.
  await wait(Math.max(0, window.startsAt + STARTED_MS - Date.now()));
  const cut = { from: Date.now(), until: Infinity };
  window.cut = cut;
  for (const id of await windowIds(scene, key)) {
    if (how === 'end') await scene.api.request('POST', `${WINDOWS_PATH}/${id}/end`);
    else await scene.api.request('DELETE', `${WINDOWS_PATH}/${id}`);
  }
  cut.until = Date.now();
}

async function windowIds({ api }: Scene, name: string): Promise<string[]> {
  const { body } = await api.request('GET', `${WINDOWS_PATH}?limit=${LIST_LIMIT}`);
  const { maintenanceWindows } = body as { maintenanceWindows: { id: string; name: string }[] };
  return maintenanceWindows.filter((window) => window.name === name).map(({ id }) => id);
}
