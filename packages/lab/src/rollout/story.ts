import { webhookPayloadSchema } from '@tocsin/contracts/deliveries/webhook';
import { say } from '../command.ts';
import { z } from 'zod';
import type { Results } from './command.ts';
import {
  APPLIED_URL,
  inspectHardening,
  receivers,
  targets,
  untilReachable,
  type DeployedSystem,
} from './deployed-system.ts';

const WITHIN_SECONDS = 60;
const TARGET = 'shop';
/** Longer than the story. */
const DOWN_FOR_MS = 3_600_000;
const DOWN = ['monitor.down', 'incident.created'];
const UP = ['monitor.up', 'incident.resolved'];
const monitorSchema = z.object({ monitor: z.object({ id: z.string(), status: z.string() }) });
const listSchema = z.object({ monitors: z.array(z.object({ id: z.string(), url: z.string() })) });
const channelSchema = z.object({ channel: z.object({ id: z.string() }) });

/**
 * Follows the README on a new system. Creates a monitor through the API, sees it UP in the dashboard, receives webhooks about an
 * outage, applies a file with the CLI, deletes the monitor and the channel, and inspects each service.
 * @param since value of `performance.now()` at the start of the system
 * @throws Error that names the step that failed
 */
export async function followReadme(system: DeployedSystem, results: Results, since: number): Promise<void> {
  say('Following the README …');
  const shop = { name: 'Shop', url: targets.url(TARGET), interval: 5 };
  const { id } = monitorSchema.parse(await system.request('POST', '/api/cli/monitors', 201, shop)).monitor;
  const isUp = async (api: string): Promise<boolean> => {
    const { monitor } = monitorSchema.parse(await system.request('GET', `/api/${api}/monitors/${id}`, 200));
    return monitor.status === 'UP';
  };
  await untilReachable('the monitor to be UP', WITHIN_SECONDS, () => isUp('cli'));
  results.addTime('until a monitor is UP through the published port or service', since);
  await untilReachable('the monitor to be UP in the dashboard', WITHIN_SECONDS, () => isUp('dashboard'));
  const page = await fetch(`http://127.0.0.1:${system.port}/`);
  const html = await page.text();
  if (!page.ok || !/^<!doctype html>/i.test(html)) throw new Error(`the dashboard's page: ${page.status}`);

  const onCall = { name: 'On call', url: receivers.url('on-call'), monitorIds: [id] };
  const created = await system.request('POST', '/api/dashboard/channels', 201, onCall);
  const { channel } = channelSchema.parse(created);
  await system.setTurns({ [TARGET]: DOWN_FOR_MS });
  await untilReceived(system, id, DOWN);
  await system.setTurns({});
  await untilReceived(system, id, [...DOWN, ...UP]);

  await system.applyFile();
  const { monitors } = listSchema.parse(await system.request('GET', '/api/cli/monitors', 200));
  const applied = monitors.find(({ url }) => new URL(url).origin === APPLIED_URL);
  if (applied === undefined) throw new Error('`tocsin apply` did not create the monitor of the file');

  for (const created of [id, applied.id]) await system.request('DELETE', `/api/cli/monitors/${created}`, 204);
  await system.request('DELETE', `/api/dashboard/channels/${channel.id}`, 204);
  for (const service of await system.services())
    results.problems.push(...(await inspectHardening(system, service)));
}

async function untilReceived(
  system: DeployedSystem,
  monitorId: string,
  events: readonly string[],
): Promise<void> {
  await untilReachable(`the webhooks ${events.join(', ')}`, WITHIN_SECONDS, async () => {
    const { receipts } = await system.readOutsideLog();
    const payloads = receipts.map(({ body }) => webhookPayloadSchema.parse(JSON.parse(body)));
    const received = payloads.filter((payload) => payload.monitorId === monitorId);
    return events.every((event) => received.some((payload) => payload.event === event));
  });
}
