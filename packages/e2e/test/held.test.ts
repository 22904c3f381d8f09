import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Channel } from '@tocsin/contracts/channel';
import type { Delivery, DeliveryDetail } from '@tocsin/contracts/channel-delivery';
import type { Monitor } from '@tocsin/contracts/monitor';
import { webhookPayloadSchema } from '@tocsin/contracts/webhook';
import { ADMIN_ENV, signIn, type DashboardRequest } from '@tocsin/e2e/dashboard-session';
import { createSystem, type System } from '@tocsin/e2e/system';
import { until } from '@tocsin/embedded/testing/until';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { WebhookReceiver, type ReceivedWebhook } from '@tocsin/embedded/local-web/webhook-receiver';
import { Webhook } from 'standardwebhooks';

let receiver: WebhookReceiver;
let system: System;
let dashboard: DashboardRequest;
const targets: HttpTarget[] = [];

beforeAll(async () => {
  receiver = await WebhookReceiver.start();
  system = await createSystem({ queue: 'redis', receiverCa: receiver.ca });
  const api = system.service('api', ADMIN_ENV);
  await Promise.all([api, system.service('checker'), system.service('notifier')].map((one) => one.start()));
  dashboard = await signIn(api);
}, 60_000);
afterAll(async () => {
  await system.close();
  await Promise.all([receiver, ...targets].map((one) => one.stop()));
});

interface Watched {
  readonly monitor: Monitor;
  readonly target: HttpTarget;
}

/** A monitor that has been found UP, and that nobody but a trigger checks again. */
async function watch(name: string): Promise<Watched> {
  const target = await HttpTarget.start();
  targets.push(target);
  const monitor = await system.createMonitor({ name, url: target.url(), interval: 86_400 });
  await until(`${name} to be UP`, async () => (await system.getMonitor(monitor.id)).monitor.status === 'UP');
  return { monitor, target };
}

/** The target answers so, and a check sees it: two alerts where that changes the monitor's status. */
async function turn({ monitor, target }: Watched, status: 200 | 500): Promise<void> {
  target.status = status;
  expect((await system.request('POST', `/api/cli/monitors/${monitor.id}/trigger`)).status).toBe(200);
}

async function ask<Answer>(wanted: number, method: string, path: string, body?: object): Promise<Answer> {
  const response = await dashboard(method, path, body);
  const answer = (await response.json()) as Answer;
  expect([method, path, response.status, answer]).toEqual([method, path, wanted, answer]);
  return answer;
}

/** The channel's log, oldest event first. */
async function logOf(channelId: string): Promise<Delivery[]> {
  const { deliveries } = await ask<{ deliveries: Delivery[] }>(
    200,
    'GET',
    `/channels/${channelId}/deliveries?limit=100`,
  );
  return deliveries.toSorted((one, other) => one.timestamp.localeCompare(other.timestamp));
}

const isEnabled = async (id: string): Promise<boolean> =>
  (await ask<{ channel: Channel }>(200, 'GET', `/channels/${id}`)).channel.enabled;

const idOf = ({ headers }: ReceivedWebhook): string => String(headers['webhook-id']);

test('what a channel missed while a 410 kept it disabled arrives on demand, once, in order, as it was stored', async () => {
  const shop = await watch('Shop');
  const bank = await watch('Bank');
  const { channel, secret } = await ask<{ channel: Channel; secret: string }>(201, 'POST', '/channels', {
    name: 'Ops',
    url: receiver.url('/hook'),
    monitorIds: [shop.monitor.id, bank.monitor.id],
  });
  const path = `/channels/${channel.id}`;

  receiver.answer = (_, response) => void response.writeHead(410).end('gone');
  await turn(shop, 500);
  await until('the channel to be disabled', async () => !(await isEnabled(channel.id)));
  await turn(bank, 500);
  await turn(shop, 200);
  await turn(bank, 200);
  await turn(shop, 500);
  const log = await until('ten deliveries', async () => {
    const found = await logOf(channel.id);
    return found.length === 10 && found;
  });
  expect(log.map(({ state }) => state)).toEqual(['failed', ...Array.from({ length: 9 }, () => 'held')]);
  expect(receiver.received.map(idOf)).toEqual([log[0]?.id]);

  // All but the last two, which come after the end of the range.
  const range = { since: log[0]?.timestamp, until: log[8]?.timestamp };
  await ask(409, 'POST', `${path}/redeliver`, range);
  receiver.answer = (_, response) => void response.writeHead(204).end();
  expect((await ask<{ channel: Channel }>(200, 'PATCH', path, { enabled: true })).channel).toMatchObject({
    enabled: true,
    disabledReason: null,
  });
  expect(await ask(202, 'POST', `${path}/redeliver`, range)).toEqual({ count: 8 });
  await until('the range to be delivered', async () =>
    (await logOf(channel.id)).slice(0, 8).every(({ state }) => state === 'delivered'),
  );
  expect((await logOf(channel.id)).slice(8).map(({ state }) => state)).toEqual(['held', 'held']);
  expect(await ask(202, 'POST', `${path}/redeliver`, { ...range, until: '2999-01-01T00:00:00Z' })).toEqual({
    count: 2,
  });
  await until('the rest to be delivered', async () =>
    (await logOf(channel.id)).every(({ state }) => state === 'delivered'),
  );

  const [refused, ...arrived] = receiver.received;
  expect(refused && idOf(refused)).toBe(log[0]?.id);
  expect(arrived.map(idOf).toSorted()).toEqual(log.map(({ id }) => id).toSorted());
  for (const { monitor } of [shop, bank]) {
    const wanted = log.filter(({ monitorId }) => monitorId === monitor.id);
    const payloads = arrived
      .map(({ body }) => webhookPayloadSchema.parse(JSON.parse(body)))
      .filter(({ monitorId }) => monitorId === monitor.id);
    expect(payloads.map(({ event, timestamp }) => [event, timestamp])).toEqual(
      wanted.map(({ event, timestamp }) => [event, timestamp]),
    );
  }
  const signature = new Webhook(secret);
  for (const webhook of receiver.received) {
    const { delivery } = await ask<{ delivery: DeliveryDetail }>(200, 'GET', `/deliveries/${idOf(webhook)}`);
    expect(webhook.body).toBe(delivery.payload);
    expect(delivery.attempts).toHaveLength(delivery.id === log[0]?.id ? 2 : 1);
    const payload = signature.verify(webhook.body, webhook.headers as Record<string, string>);
    expect(payload).toMatchObject({ monitorId: delivery.monitorId, timestamp: delivery.timestamp });
  }
}, 90_000);
