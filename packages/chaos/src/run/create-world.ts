import { until } from '@tocsin/embedded/testing/until';
import type { ApiClient } from '../lab/api-client.ts';
import type { MonitorPlan, World } from '../plan/plan-world.ts';
import type { Scene } from './scene.ts';

interface CreatedMonitor {
  readonly id: string;
  readonly name: string;
  readonly createdAt: string;
}

/** Makes the monitors and channels, and waits until each monitor has been checked: all targets are up until then. */
export async function createWorld(scene: Scene, world: World): Promise<void> {
  const { api, registry, targets, receivers } = scene;
  for (const plan of world.monitors) {
    registry.add(plan, await createMonitor(api, plan, targets.urlOf(plan)));
  }
  await until(
    'every monitor to be UP',
    async () => (await statusesOf(api)).every((one) => one === 'UP'),
    600_000,
  );
  for (const plan of world.channels) {
    const answer = await api.request('POST', '/api/dashboard/channels', {
      name: plan.key,
      url: receivers.urlOf(plan.key),
      monitorIds: (plan.monitors ?? []).map((key) => registry.monitor(key).id),
      allMonitors: plan.monitors === null,
    });
    if (answer.status !== 201) throw new Error(`channel ${plan.key}: ${JSON.stringify(answer)}`);
    const { channel, secret } = answer.body as { channel: { id: string }; secret: string };
    registry.channels.push({ id: channel.id, secret, plan });
  }
}

/** What the API takes to make a monitor of a plan. */
export function monitorFields(plan: MonitorPlan, url: string): object {
  return {
    name: plan.key,
    externalId: plan.key,
    url,
    interval: plan.intervalSeconds,
    timeout: plan.timeoutSeconds,
    failureThreshold: plan.failureThreshold,
    regions: plan.regions,
  };
}

/** Makes a monitor, or finds the one that an earlier try has made. */
export async function createMonitor(api: ApiClient, plan: MonitorPlan, url: string): Promise<CreatedMonitor> {
  const answer = await api.request('POST', '/api/cli/monitors', monitorFields(plan, url));
  if (answer.status === 201) return (answer.body as { monitor: CreatedMonitor }).monitor;
  const listed = await api.request('GET', '/api/cli/monitors');
  const { monitors } = listed.body as { monitors: (CreatedMonitor & { externalId: string })[] };
  const known = monitors.find(({ externalId }) => externalId === plan.key);
  if (known === undefined) throw new Error(`monitor ${plan.key}: ${JSON.stringify(answer)}`);
  return known;
}

async function statusesOf(api: ApiClient): Promise<string[]> {
  const { body } = await api.request('GET', '/api/cli/monitors');
  return (body as { monitors: { status: string }[] }).monitors.map(({ status }) => status);
}
