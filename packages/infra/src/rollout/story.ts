import { webhookPayloadSchema } from '@tocsin/contracts/deliveries/webhook';
import { z } from 'zod';
import {
  readBody,
  RECEIVER_URL,
  TARGET_URL,
  untilReachable,
  type DeployedSystem,
} from './deployed-system.ts';

const WITHIN_SECONDS = 60;
const TARGET = 'shop';
const FILE = 'source: story\nmonitors:\n  - { externalId: blog, name: Blog, url: https://blog.example }\n';
const DOWN = ['monitor.down', 'incident.created'];
const UP = ['monitor.up', 'incident.resolved'];
const monitorSchema = z.object({ monitor: z.object({ id: z.string(), status: z.string() }) });
const channelSchema = z.object({ channel: z.object({ id: z.string() }) });

/**
 * Follows the README: creates a monitor through the API, sees it UP in the dashboard, receives webhooks about an outage and its end, and
 * applies a file with the CLI. Deletes the monitor and the channel at the end.
 * @throws Error that names the step that failed
 */
export async function followReadme(system: DeployedSystem): Promise<void> {
  const id = await createMonitor(system);
  const request = await system.signIn();
  await untilReachable('the monitor to be UP in the dashboard', WITHIN_SECONDS, async () => {
    const signal = AbortSignal.timeout(10_000);
    const response = await request('GET', `/monitors/${id}`, undefined, { signal });
    return (await response.text()).includes('"status":"UP"');
  });
  const page = await fetch(`http://127.0.0.1:${system.port}/`);
  const html = await page.text();
  if (!page.ok || !/^<!doctype html>/i.test(html)) throw new Error(`the dashboard's page: ${page.status}`);

  const fields = { name: 'On call', url: RECEIVER_URL, monitorIds: [id] };
  const created = await readBody('creating a channel', await request('POST', '/channels', fields), 201);
  const channelId = channelSchema.parse(created).channel.id;
  await system.setStatus(TARGET, 500);
  await untilReceived(system, id, DOWN);
  await system.setStatus(TARGET, 200);
  await untilReceived(system, id, [...DOWN, ...UP]);

  await system.apply(FILE);
  const list = await system.callApi('GET', '/monitors', 200);
  if (!JSON.stringify(list).includes('https://blog.example'))
    throw new Error('`tocsin apply` did not create the monitor of the file');

  await system.callApi('DELETE', `/monitors/${id}`, 204);
  await readBody('deleting the channel', await request('DELETE', `/channels/${channelId}`), 204);
}

/** Creates a monitor. Returns its id when a check has recorded it as UP. */
export async function createMonitor(system: DeployedSystem): Promise<string> {
  const fields = { name: 'Shop', url: TARGET_URL + TARGET, interval: 5 };
  const { id } = monitorSchema.parse(await system.callApi('POST', '/monitors', 201, fields)).monitor;
  await untilReachable('the monitor to be UP', WITHIN_SECONDS, async () => {
    const { monitor } = monitorSchema.parse(await system.callApi('GET', `/monitors/${id}`, 200));
    return monitor.status === 'UP';
  });
  return id;
}

async function untilReceived(
  system: DeployedSystem,
  monitorId: string,
  events: readonly string[],
): Promise<void> {
  await untilReachable(`the webhooks ${events.join(', ')}`, WITHIN_SECONDS, async () => {
    const { webhooks } = await system.readOutsideLog();
    const payloads = webhooks.map(({ body }) => webhookPayloadSchema.parse(JSON.parse(body)));
    const received = payloads.filter((payload) => payload.monitorId === monitorId);
    return events.every((event) => received.some((payload) => payload.event === event));
  });
}
