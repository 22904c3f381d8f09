import { setTimeout as wait } from 'node:timers/promises';
import type { RedeliveryResult } from '@tocsin/contracts/deliveries/delivery';
import type { PlannedCall } from '../plan/plan-calls.ts';
import { cutMaintenance, planMaintenance } from './maintenance.ts';
import type { Scene } from './scene.ts';

/** Maintenance begins so long after it is asked for. */
const SOON_MS = 2_000;

/** Makes the calls at their moments, one after the other, each until it is answered. */
export async function makeCalls(
  scene: Scene,
  calls: readonly PlannedCall[],
  startedAt: number,
): Promise<void> {
  for (const call of calls) {
    await wait(Math.max(0, startedAt + call.atMs - Date.now()));
    await make(scene, call);
  }
}

async function make(scene: Scene, call: PlannedCall): Promise<void> {
  const { api, registry, targets } = scene;
  switch (call.type) {
    case 'rename':
      registry.monitor(call.monitor).names.push(call.name);
      await update(scene, call.monitor, { name: call.name });
      return;
    case 'tune': {
      const monitor = registry.monitor(call.monitor);
      const { failureThreshold: value } = call;
      const before = monitor.thresholds.at(-1)?.value ?? monitor.plan.failureThreshold;
      const updatedAt = await update(scene, call.monitor, { failureThreshold: value });
      if (value !== before) monitor.thresholds.push({ at: Date.parse(updatedAt), value });
      return;
    }
    case 'move':
      await update(scene, call.monitor, {
        url: targets.urlOf(registry.monitor(call.monitor).plan, call.version),
      });
      return;
    case 'trigger':
      await trigger(scene, call.monitor, call.override);
      return;
    case 'delete': {
      const monitor = registry.monitor(call.monitor);
      monitor.deletedAt = Date.now();
      await api.request('DELETE', `/api/cli/monitors/${monitor.id}`);
      return;
    }
    case 'disable':
    case 'enable': {
      const { id } = registry.channel(call.channel);
      await api.request('PATCH', `/api/dashboard/channels/${id}`, { enabled: call.type === 'enable' });
      if (call.type === 'enable') await redeliver(scene, id);
      return;
    }
    case 'maintain': {
      const startsAt = Date.now() + SOON_MS;
      const { window: key, monitors, lastsMs } = call;
      await planMaintenance(scene, { key, monitors, startsAt, endsAt: startsAt + lastsMs });
      return;
    }
    case 'end maintenance':
    case 'delete maintenance':
      await cutMaintenance(scene, call.window, call.type === 'end maintenance' ? 'end' : 'delete');
      return;
  }
}

/** Makes what a channel has not got due again, in as many requests as it takes. */
export async function redeliver({ api }: Scene, channelId: string): Promise<void> {
  const hourMs = 3_600_000;
  const range = {
    since: new Date(Date.now() - hourMs).toISOString(),
    until: new Date(Date.now() + hourMs).toISOString(),
  };
  let result: Partial<RedeliveryResult>;
  do {
    const { body } = await api.request('POST', `/api/dashboard/channels/${channelId}/redeliver`, range);
    // Without these fields it is an error, such as a 409 of a disabled channel.
    result = body as Partial<RedeliveryResult>;
  } while (result.more && result.count !== 0);
}

/** @returns when Postgres says that it was changed */
async function update({ api, registry }: Scene, key: string, fields: object): Promise<string> {
  const { id } = registry.monitor(key);
  const { status, body } = await api.request('PUT', `/api/cli/monitors/${id}`, fields);
  if (status !== 200) throw new Error(`update of ${key}: ${status} ${JSON.stringify(body)}`);
  return (body as { monitor: { updatedAt: string } }).monitor.updatedAt;
}

/**
 * Asks once for a check: whether it works now is not the question, but what becomes of its event. Never throws.
 * @param override whether another URL of the target is checked, which counts for nothing
 */
export async function trigger(
  { api, registry, slots, targets }: Scene,
  key: string,
  override: boolean,
): Promise<void> {
  const slot = slots.find(({ plan, isReady }) => plan.service === 'api' && isReady);
  if (slot === undefined) return;
  const { id, plan } = registry.monitor(key);
  const body = override ? { url: targets.urlOf(plan, 0) } : undefined;
  await api.send(slot, 'POST', `/api/cli/monitors/${id}/trigger`, body).catch(() => undefined);
}
