import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Channel } from '@tocsin/contracts/channels/channel';
import type { Delivery, DeliveryDetail } from '@tocsin/contracts/deliveries/delivery';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { type ReceivedWebhook, WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';
import { until } from '@tocsin/embedded/testing/until';
import { ADMIN_ENV, type DashboardRequest, openSession } from '@tocsin/lab/dashboard-session';
import { createSystem, type System } from '@tocsin/lab/system';
import { Webhook } from 'standardwebhooks';
import { firstArrivals, NO_RESPONSE, untilLogged, webhookIdOf } from './arrivals.ts';

let receiver: WebhookReceiver;
let system: System;
let dashboard: DashboardRequest;
const targets: HttpTarget[] = [];

beforeAll(async () => {
  receiver = await WebhookReceiver.start();
  system = await createSystem({ queue: 'redis', receiverCa: receiver.ca });
  const api = system.service('api', ADMIN_ENV);
  const others = [system.service('checker'), system.service('notifier')];
  await Promise.all([api, ...others].map((one) => one.start()));
  dashboard = (await openSession(api)).request;
});
afterAll(async () => {
  await system.close();
  await Promise.all([receiver, ...targets].map((one) => one.stop()));
});

async function send<Body>(wanted: number, method: string, path: string, body?: object): Promise<Body> {
  const response = await dashboard(method, path, body);
  const received = (await response.json()) as Body;
  expect([method, path, response.status, received]).toEqual([method, path, wanted, received]);
  return received;
}

interface Watched {
  readonly id: string;
  readonly target: HttpTarget;
}

/** A monitor that is UP. After its first check, only triggers check it. */
async function watch(name: string): Promise<Watched> {
  const target = await HttpTarget.start();
  targets.push(target);
  const { id } = await system.createMonitor({ name, url: target.url(), interval: 86_400 });
  await system.untilStatus(id, 'UP');
  return { id, target };
}

/** Makes the target respond with a status, and checks it: two alerts if that changes the monitor's status. */
async function turn({ id, target }: Watched, status: 200 | 500): Promise<void> {
  target.status = status;
  expect((await system.trigger(id)).status).toBe(200);
}

test('events that a channel missed while a 410 disabled it arrive on demand, once, in order and unchanged', async () => {
  const shop = await watch('Shop');
  const bank = await watch('Bank');
  const { channel, secret } = await send<{ channel: Channel; secret: string }>(201, 'POST', '/channels', {
    name: 'Ops',
    url: receiver.url('/hook'),
    monitorIds: [shop.id, bank.id],
  });
  const path = `/channels/${channel.id}`;
  /** The channel's log, oldest event first. */
  const readLog = async (): Promise<Delivery[]> => {
    const { deliveries } = await send<{ deliveries: Delivery[] }>(200, 'GET', `${path}/deliveries?limit=100`);
    return deliveries.toSorted((one, other) => one.timestamp.localeCompare(other.timestamp));
  };

  receiver.respond = (_, response) => void response.writeHead(410).end('gone');
  await turn(shop, 500);
  await until('the channel to be disabled', async () => {
    const { channel: shown } = await send<{ channel: Channel }>(200, 'GET', path);
    return !shown.enabled;
  });
  const [refusal] = receiver.received.slice(-1) as [ReceivedWebhook];
  const refused = receiver.received.length;
  await turn(bank, 500);
  await turn(shop, 200);
  await turn(bank, 200);
  const log = await until('eight deliveries', async () => {
    const found = await readLog();
    return found.length === 8 && found;
  });
  expect(log.filter(({ state }) => state === 'failed').map(({ id }) => id)).toEqual([webhookIdOf(refusal)]);
  expect(log.filter(({ state }) => state === 'held')).toHaveLength(7);
  expect(receiver.received).toHaveLength(refused);

  // The last two deliveries are after the end of the range.
  const range = { since: log[0]?.timestamp, until: log[6]?.timestamp };
  await send(409, 'POST', `${path}/redeliver`, range);
  receiver.respond = (_, response) => void response.writeHead(204).end();
  const { channel: enabled } = await send<{ channel: Channel }>(200, 'PATCH', path, { enabled: true });
  expect(enabled).toMatchObject({ enabled: true, disabledReason: null });
  expect(await send(202, 'POST', `${path}/redeliver`, range)).toEqual({ count: 6, more: false });
  await until('the range to be delivered', async () =>
    (await readLog()).slice(0, 6).every(({ state }) => state === 'delivered'),
  );
  expect((await readLog()).slice(6).map(({ state }) => state)).toEqual(['held', 'held']);
  const rest = { ...range, until: '2999-01-01T00:00:00Z' };
  expect(await send(202, 'POST', `${path}/redeliver`, rest)).toEqual({ count: 2, more: false });
  await until('the rest to be delivered', async () =>
    (await readLog()).every(({ state }) => state === 'delivered'),
  );

  const arrived = firstArrivals(receiver.received.slice(refused)).map(webhookIdOf);
  expect(arrived.toSorted()).toEqual(log.map(({ id }) => id).toSorted());
  for (const monitor of [shop, bank]) {
    const wanted = log.filter(({ monitorId }) => monitorId === monitor.id).map(({ id }) => id);
    expect(arrived.filter((id) => wanted.includes(id))).toEqual(wanted);
  }
  await untilLogged(system.context, receiver.received);
  for (const webhook of receiver.received) {
    const id = webhookIdOf(webhook);
    const { delivery } = await send<{ delivery: DeliveryDetail }>(200, 'GET', `/deliveries/${id}`);
    expect(webhook.body).toBe(delivery.payload);
    const responded = delivery.attempts.filter(({ error }) => !NO_RESPONSE.test(error ?? ''));
    expect(responded).toHaveLength(id === webhookIdOf(refusal) ? 2 : 1);
    expect(new Webhook(secret).verify(webhook.body, webhook.headers as Record<string, string>)).toMatchObject(
      { monitorId: delivery.monitorId, timestamp: delivery.timestamp },
    );
  }
});
