import type { Labels } from '@tocsin/contracts/labels/labels';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { MonitorFacts } from '../oracle/record.ts';
import { TARGETS_NAME } from '../world/targets.ts';
import { noteEdit, type WindowSpan } from './registry.ts';
import type { ChannelScope, MonitorPlan } from './world-plan.ts';
import type { WorldScene } from './world-scene.ts';

export const MONITORS_PATH = '/api/cli/monitors';
export const CHANNELS_PATH = '/api/dashboard/channels';
export const WINDOWS_PATH = '/api/dashboard/maintenance-windows';
/** Higher than the number of windows that a campaign plans, so that one request lists them all. */
const LIST_LIMIT = 200;

/** A write request, which is recorded in the registry. */
export interface Write {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  /** Records a successful response. It may be called again with the response to a repeated request. */
  readonly confirm: (body: unknown) => void;
  /** After this request was refused, records what an earlier request without a response has written. Returns false if there is nothing. */
  readonly confirmEarlier?: () => Promise<boolean>;
}

/** Sends a write until there is a response. @throws Error if it is refused */
export async function write({ api }: WorldScene, write: Write): Promise<void> {
  const { method, path } = write;
  const { status, body } = await api.request(method, path, write.body);
  if (status < 300) write.confirm(body);
  else if ((await write.confirmEarlier?.()) !== true)
    throw new Error(`${method} ${path}: ${status} ${JSON.stringify(body)}`);
}

export function urlOf({ targets, hostOf }: WorldScene, plan: MonitorPlan, version?: number): string {
  const host = hostOf?.(plan) ?? (plan.byName ? TARGETS_NAME : undefined);
  return targets.url(plan.key, host, version);
}

export function createMonitor(scene: WorldScene, plan: MonitorPlan): Write {
  const { registry } = scene;
  return {
    method: 'POST',
    path: MONITORS_PATH,
    body: {
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
    },
    confirm: (body) => {
      const { monitor } = body as { monitor: Monitor };
      registry.promised.push({ id: monitor.id, key: plan.key });
      registry.add(plan, monitor);
    },
    confirmEarlier: async () => {
      const known = (await listMonitors(scene)).find(({ externalId }) => externalId === plan.key);
      if (known !== undefined) registry.add(plan, known);
      return known !== undefined;
    },
  };
}

export async function listMonitors({ api }: WorldScene): Promise<readonly Monitor[]> {
  const { body } = await api.request('GET', MONITORS_PATH);
  return (body as { monitors: Monitor[] }).monitors;
}

export interface MonitorEdit {
  readonly name?: string;
  readonly labels?: Labels;
  readonly failureThreshold?: number;
  readonly url?: string;
}

export function editMonitor(
  { id, plan, names, relabeled, thresholds }: MonitorFacts,
  edit: MonitorEdit,
): Write {
  const { name, labels, failureThreshold: value } = edit;
  // Alerts may have the new name right after the commit.
  if (name !== undefined) names.push(name);
  const confirmLabels = labels && noteEdit(relabeled, labels);
  return {
    method: 'PUT',
    path: `${MONITORS_PATH}/${id}`,
    body: edit,
    confirm: (body) => {
      confirmLabels?.();
      const before = thresholds.at(-1)?.value ?? plan.failureThreshold;
      if (value === undefined || value === before) return;
      // Time by Postgres' clock.
      const { updatedAt } = (body as { monitor: Monitor }).monitor;
      thresholds.push({ at: Date.parse(updatedAt), value });
    },
  };
}

export function deleteMonitor(monitor: MonitorFacts): Write {
  const confirm = (): void => void (monitor.deletedAt ??= Date.now());
  return {
    method: 'DELETE',
    path: `${MONITORS_PATH}/${monitor.id}`,
    confirm,
    confirmEarlier: () => {
      confirm();
      return Promise.resolve(true);
    },
  };
}

export function rescopeChannel({ registry }: WorldScene, key: string, scope: ChannelScope): Write {
  const { id, rescoped } = registry.channel(key);
  return {
    method: 'PATCH',
    path: `${CHANNELS_PATH}/${id}`,
    body: scope,
    confirm: noteEdit(rescoped, scope),
  };
}

/** Two requests may both plan a window, so there may be two with the same name. */
export function planMaintenance(scene: WorldScene, window: WindowSpan): Write {
  const { registry } = scene;
  const confirm = (): void => registry.addWindow(window);
  return {
    method: 'POST',
    path: WINDOWS_PATH,
    body: {
      name: window.key,
      startsAt: new Date(window.startsAt).toISOString(),
      endsAt: new Date(window.endsAt).toISOString(),
      monitorIds: window.monitors.map((key) => registry.monitor(key).id),
    },
    confirm,
    confirmEarlier: async () => {
      if ((await windowIds(scene, window.key)).length > 0) confirm();
      // A late request is refused.
      return registry.window(window.key) !== undefined || Date.now() > window.endsAt;
    },
  };
}

export async function windowIds({ api }: WorldScene, name: string): Promise<string[]> {
  const { body } = await api.request('GET', `${WINDOWS_PATH}?limit=${LIST_LIMIT}`);
  const { maintenanceWindows } = body as { maintenanceWindows: { id: string; name: string }[] };
  return maintenanceWindows.filter((window) => window.name === name).map(({ id }) => id);
}

export function redeliver({ registry }: WorldScene, id: string): Write {
  const since = Date.now();
  return {
    method: 'POST',
    path: `/api/dashboard/deliveries/${id}/redeliver`,
    confirm: () => void registry.redelivered.push({ id, since }),
  };
}
