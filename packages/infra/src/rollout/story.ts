import { webhookPayloadSchema } from '@tocsin/contracts/deliveries/webhook';
import { openSession } from '@tocsin/lab/dashboard-session';
import { z } from 'zod';
import { callApi, type DeployedSystem, RECEIVER_URL, TARGET_URL, waitUntil } from './deployed-system.ts';

const WITHIN_SECONDS = 60;
const TARGET = 'shop';
const FILE = 'source: story\nmonitors:\n  - { externalId: blog, name: Blog, url: https://blog.example }\n';
const DOWN = ['monitor.down', 'incident.created'];
const UP = ['monitor.up', 'incident.resolved'];

/**
 * Follows the README as a newcomer: creates a monitor through the API, sees it UP in the dashboard, is told of an outage and of its end
 * by webhook, and applies a file with the CLI. Deletes the monitor and the channel at the end.
 * @throws Error that names the step that failed
 */
export async function followReadme(system: DeployedSystem): Promise<void> {
  const id = await createMonitor(system);
  const { request } = await openSession(system, system.admin, system.publicUrl);
  await waitUntil('the monitor to be UP in the dashboard', WITHIN_SECONDS, async () => {
    const shown = await request('GET', `/monitors/${id}`);
    return (await shown.text()).includes('"status":"UP"');
  });
  const page = await fetch(`http://127.0.0.1:${system.port}/`);
  const html = await page.text();
  if (!page.ok || !/^<!doctype html>/i.test(html)) throw new Error(`the dashboard's page: ${page.status}`);

  const channelId = await createChannel(request, id);
  await system.outside.setStatus(TARGET, 500);
  await untilReceived(system, id, DOWN);
  await system.outside.setStatus(TARGET, 200);
  await untilReceived(system, id, [...DOWN, ...UP]);

  await system.apply(FILE);
  const list = await callApi(system, 'GET', '/api/cli/monitors');
  if (!JSON.stringify(list.body).includes('https://blog.example'))
    throw new Error('`tocsin apply` did not create the monitor of the file');

  const cleanups = [
    (await callApi(system, 'DELETE', `/api/cli/monitors/${id}`)).status,
    (await request('DELETE', `/channels/${channelId}`)).status,
  ];
  if (cleanups.some((status) => status !== 204)) throw new Error(`deleting: ${cleanups.join(', ')}`);
}

/** Creates a monitor and waits until a check recorded it as UP. Returns its id. */
export async function createMonitor(system: DeployedSystem): Promise<string> {
  const created = await callApi(system, 'POST', '/api/cli/monitors', {
    name: 'Shop',
    url: TARGET_URL + TARGET,
    interval: 5,
  });
  if (created.status !== 201) throw new Error(`creating a monitor: ${JSON.stringify(created)}`);
  const schema = z.object({ monitor: z.object({ id: z.string(), status: z.string() }) });
  const { id } = schema.parse(created.body).monitor;
  await waitUntil('the monitor to be UP', WITHIN_SECONDS, async () => {
    const { body } = await callApi(system, 'GET', `/api/cli/monitors/${id}`);
    return schema.parse(body).monitor.status === 'UP';
  });
  return id;
}

async function createChannel(
  request: Awaited<ReturnType<typeof openSession>>['request'],
  monitorId: string,
): Promise<string> {
  const body = { name: 'On call', url: RECEIVER_URL, monitorIds: [monitorId] };
  const created = await request('POST', '/channels', body);
  if (created.status !== 201)
    throw new Error(`creating a channel: ${created.status} ${await created.text()}`);
  return z.object({ channel: z.object({ id: z.string() }) }).parse(await created.json()).channel.id;
}

async function untilReceived(
  { outside }: DeployedSystem,
  monitorId: string,
  events: readonly string[],
): Promise<void> {
  await waitUntil(`the webhooks ${events.join(', ')}`, WITHIN_SECONDS, async () => {
    const { webhooks } = await outside.readLog();
    const received = new Set(
      webhooks
        .map(({ body }) => webhookPayloadSchema.parse(JSON.parse(body)))
        .filter((payload) => payload.monitorId === monitorId)
        .map(({ event }) => event as string),
    );
    return events.every((event) => received.has(event));
  });
}
