import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Channel } from '@tocsin/contracts/channels/channel';
import type { Delivery, DeliveryDetail } from '@tocsin/contracts/deliveries/delivery';
import { webhookPayloadSchema } from '@tocsin/contracts/deliveries/webhook';
import { createMonitorSchema, type Monitor } from '@tocsin/contracts/monitors/monitor';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { updateChannel } from '@tocsin/db/channels/write-channels';
import { claimDeliveries } from '@tocsin/db/deliveries/claim-deliveries';
import { getDelivery } from '@tocsin/db/deliveries/read-deliveries';
import { redeliver } from '@tocsin/db/deliveries/redeliver';
import { createTestDelivery, findTestOutcome } from '@tocsin/db/deliveries/test-deliveries';
import { insertMonitors } from '@tocsin/db/monitors/create-monitors';
import { firstArrivals, NO_RESPONSE, untilLogged, webhookIdOf } from './arrivals.ts';
import { ADMIN_ENV, type DashboardRequest, openSession } from '@tocsin/lab/dashboard-session';
import { NOWHERE, recordCheck } from './record-check.ts';
import type { ServiceProcess } from '@tocsin/lab/service-process';
import { createSystem, type System } from '@tocsin/lab/system';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { type ReceivedWebhook, WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';
import { until } from '@tocsin/embedded/testing/until';
import { Producers } from '@tocsin/queue/producers';
import { openQueueStores } from '@tocsin/queue/queue-stores';
import { Webhook } from 'standardwebhooks';

const HANGING = 30;
const MONITORS = 30;
/** The status of the dashboard API if no notifier sent the test event in time. */
const NOT_ATTEMPTED = 504;
/** Longer than any test runs. */
const ENQUEUE_WITHIN_MS = 3_600_000;
/** `monitor.down` and `incident.created`. */
const ALERTS = 2 * MONITORS;

let receiver: WebhookReceiver;
let system: System;
let api: ServiceProcess;
let dashboard: DashboardRequest;
const targets: HttpTarget[] = [];

beforeAll(async () => {
  receiver = await WebhookReceiver.start();
  system = await createSystem({ queue: 'redis', receiverCa: receiver.ca });
  api = system.service('api', ADMIN_ENV);
  await Promise.all([api, system.service('notifier')].map((one) => one.start()));
  dashboard = (await openSession(api)).request;
});
afterAll(async () => {
  await system.close();
  await Promise.all([receiver, ...targets].map((one) => one.stop()));
});

const receivedAt = (path: string): ReceivedWebhook[] =>
  receiver.received.filter((webhook) => webhook.path === path);

function expectSigned(secret: string, webhook: ReceivedWebhook | undefined): unknown {
  return new Webhook(secret).verify(webhook?.body ?? '', webhook?.headers as Record<string, string>);
}

async function send<Body>(wanted: number, method: string, path: string, body?: object): Promise<Body> {
  const response = await dashboard(method, path, body);
  const received = (await response.json()) as Body;
  expect([method, path, response.status, received]).toEqual([method, path, wanted, received]);
  return received;
}

/** Creates test events without a hint, as when the queue's store is unavailable, until one gets a response in time. */
async function testOf(
  channelId: string,
): Promise<{ id: string; outcome: Awaited<ReturnType<typeof findTestOutcome>> }> {
  const { db, accountId } = system.context;
  for (;;) {
    const id = await createTestDelivery(db, accountId, channelId, 'default');
    const outcome = await until('an outcome', () => findTestOutcome(db, id));
    if (!NO_RESPONSE.test(outcome.attempt?.error ?? '')) return { id, outcome };
  }
}

test('a test event is sent once and signed, even to a disabled channel and whatever its outcome', async () => {
  const { db, accountId } = system.context;
  const { id: channelId, secret } = await system.createChannel(receiver.url('/test'), []);
  await updateChannel(db, systemActor(accountId), channelId, { enabled: false });
  receiver.respond = (_, response) => {
    response.writeHead(503).end('closed');
  };
  const failed = await testOf(channelId);
  expect(failed.outcome).toMatchObject({
    delivered: false,
    attempt: { statusCode: 503, error: 'responded with status 503', responseExcerpt: 'closed' },
  });
  receiver.respond = (_, response) => {
    response.writeHead(204).end();
  };
  const passed = await testOf(channelId);
  expect(passed.outcome).toMatchObject({ delivered: true });
  expect(await getDelivery(db, accountId, failed.id)).toMatchObject({
    state: 'failed',
    nextAttemptAt: null,
    attempts: [{ number: 1 }],
  });
  const last = receivedAt('/test').at(-1);
  expect(receivedAt('/test').map(webhookIdOf)).toEqual(expect.arrayContaining([failed.id, passed.id]));
  await untilLogged(system.context, receiver.received);
  expect(last?.headers).toMatchObject({ 'user-agent': 'Service/1.0', 'content-type': 'application/json' });
  expect(expectSigned(secret, last)).toMatchObject({
    event: 'monitor.up',
    monitorId: 'test',
    monitorName: 'test',
    status: 'UP',
  });
  expect(await claimDeliveries(system.context, { limit: 10 })).toEqual([]);
});

test('a redelivered event is sent with identical bytes, and its log continues', async () => {
  const { db, accountId } = system.context;
  const { id: channelId } = await system.createChannel(receiver.url('/again'), []);
  const { id } = await testOf(channelId);
  await redeliver(db, accountId, id);
  const delivery = await until('the redelivery', async () => {
    const found = await getDelivery(db, accountId, id);
    return found.state === 'delivered' && found;
  });
  expect(delivery.attempts.map(({ number }) => number)).toEqual(
    delivery.attempts.map((_, index) => index + 1),
  );
  const responded = delivery.attempts.filter(({ error }) => !NO_RESPONSE.test(error ?? ''));
  expect(responded).toMatchObject([{ number: 1, error: null }, { error: null }]);
  const sent = receiver.received.filter((webhook) => webhookIdOf(webhook) === id);
  expect(sent.length).toBeGreaterThanOrEqual(responded.length);
  expect(sent.map((webhook) => webhook.body)).toEqual(sent.map(() => delivery.payload));
});

test('the dashboard tests a channel through the queue and shows the workers of each region', async () => {
  const { channel, secret } = await send<{ channel: Channel; secret: string }>(201, 'POST', '/channels', {
    name: 'Ops',
    url: receiver.url('/dashboard'),
    monitorIds: [],
    allMonitors: true,
  });
  const tested = await until('a response to a test event', async () => {
    const response = await dashboard('POST', `/channels/${channel.id}/test`);
    // On a busy machine no notifier may start the attempt in time, or its response may come too late.
    if (response.status === NOT_ATTEMPTED) return null;
    expect(response.status).toBe(200);
    const outcome = (await response.json()) as { attempt: { error: string | null } };
    return !NO_RESPONSE.test(outcome.attempt.error ?? '') && outcome;
  });
  expect(tested).toEqual({
    delivered: true,
    attempt: expect.objectContaining({ statusCode: 204, error: null }),
  });
  expectSigned(secret, receivedAt('/dashboard').at(-1));
  await system.createMonitor({ name: 'Shop', url: 'http://127.0.0.1:1/', interval: 3_600 });
  const regions = (): Promise<{ regions: { workers: number | null; served: boolean | null }[] }> =>
    send(200, 'GET', '/regions');
  // `workers` is null while the queue's store does not respond in time.
  const unserved = await until('the region to be read', async () => {
    const found = await regions();
    return found.regions.every(({ workers }) => workers !== null) && found;
  });
  expect(unserved).toMatchObject({
    regions: [{ region: 'default', workers: 0, monitors: 1, served: false }],
  });
  await system.service('checker').start();
  await until('the region to be served', async () => {
    const [found] = (await regions()).regions;
    return found?.workers === 1 && found.served === true;
  });
  // A scrape leaves out what could not be read in time.
  for (const series of ['tocsin_region_monitors', 'tocsin_region_workers']) {
    const sample = `${series}{region="default"} 1`;
    await until(sample, async () => (await api.metrics()).includes(sample));
  }
});

interface Watched {
  readonly monitor: Monitor;
  readonly target: HttpTarget;
}

/** A monitor that is UP. After its first check, only triggers check it. */
async function watch(name: string): Promise<Watched> {
  const target = await HttpTarget.start();
  targets.push(target);
  const monitor = await system.createMonitor({ name, url: target.url(), interval: 86_400 });
  await system.untilStatus(monitor.id, 'UP');
  return { monitor, target };
}

/** Makes the target respond with a status, and checks it: two alerts if that changes the monitor's status. */
async function turn({ monitor, target }: Watched, status: 200 | 500): Promise<void> {
  target.status = status;
  expect((await system.trigger(monitor.id)).status).toBe(200);
}

/** The channel's log, oldest event first. */
async function logOf(channelId: string): Promise<Delivery[]> {
  const { deliveries } = await send<{ deliveries: Delivery[] }>(
    200,
    'GET',
    `/channels/${channelId}/deliveries?limit=100`,
  );
  return deliveries.toSorted((one, other) => one.timestamp.localeCompare(other.timestamp));
}

const isEnabled = async (id: string): Promise<boolean> =>
  (await send<{ channel: Channel }>(200, 'GET', `/channels/${id}`)).channel.enabled;

test('events that a channel missed while a 410 disabled it arrive on demand, once, in order and unchanged', async () => {
  const shop = await watch('Shop');
  const bank = await watch('Bank');
  const { channel, secret } = await send<{ channel: Channel; secret: string }>(201, 'POST', '/channels', {
    name: 'Ops',
    url: receiver.url('/hook'),
    monitorIds: [shop.monitor.id, bank.monitor.id],
  });
  const path = `/channels/${channel.id}`;

  receiver.respond = (_, response) => void response.writeHead(410).end('gone');
  await turn(shop, 500);
  await until('the channel to be disabled', async () => !(await isEnabled(channel.id)));
  const [refusal] = receivedAt('/hook').slice(-1);
  const beforeRefusal = receivedAt('/hook').length - 1;
  await turn(bank, 500);
  await turn(shop, 200);
  await turn(bank, 200);
  await turn(shop, 500);
  const log = await until('ten deliveries', async () => {
    const found = await logOf(channel.id);
    return found.length === 10 && found;
  });
  expect(log.filter(({ state }) => state === 'failed').map(({ id }) => id)).toEqual([
    refusal && webhookIdOf(refusal),
  ]);
  expect(log.filter(({ state }) => state === 'held')).toHaveLength(9);
  expect(receivedAt('/hook')).toHaveLength(beforeRefusal + 1);

  // The last two deliveries are after the end of the range.
  const range = { since: log[0]?.timestamp, until: log[8]?.timestamp };
  await send(409, 'POST', `${path}/redeliver`, range);
  receiver.respond = (_, response) => void response.writeHead(204).end();
  expect((await send<{ channel: Channel }>(200, 'PATCH', path, { enabled: true })).channel).toMatchObject({
    enabled: true,
    disabledReason: null,
  });
  expect(await send(202, 'POST', `${path}/redeliver`, range)).toEqual({ count: 8, more: false });
  await until('the range to be delivered', async () =>
    (await logOf(channel.id)).slice(0, 8).every(({ state }) => state === 'delivered'),
  );
  expect((await logOf(channel.id)).slice(8).map(({ state }) => state)).toEqual(['held', 'held']);
  expect(await send(202, 'POST', `${path}/redeliver`, { ...range, until: '2999-01-01T00:00:00Z' })).toEqual({
    count: 2,
    more: false,
  });
  await until('the rest to be delivered', async () =>
    (await logOf(channel.id)).every(({ state }) => state === 'delivered'),
  );

  const arrived = firstArrivals(receivedAt('/hook').slice(beforeRefusal + 1));
  expect(arrived.map(webhookIdOf).toSorted()).toEqual(log.map(({ id }) => id).toSorted());
  for (const { monitor } of [shop, bank]) {
    const wanted = log.filter(({ monitorId }) => monitorId === monitor.id);
    const payloads = arrived
      .map(({ body }) => webhookPayloadSchema.parse(JSON.parse(body)))
      .filter(({ monitorId }) => monitorId === monitor.id);
    expect(payloads.map(({ event, timestamp }) => [event, timestamp])).toEqual(
      wanted.map(({ event, timestamp }) => [event, timestamp]),
    );
  }
  await untilLogged(system.context, receiver.received);
  for (const webhook of receivedAt('/hook')) {
    const id = webhookIdOf(webhook);
    const { delivery } = await send<{ delivery: DeliveryDetail }>(200, 'GET', `/deliveries/${id}`);
    expect(webhook.body).toBe(delivery.payload);
    const responded = delivery.attempts.filter(({ error }) => !NO_RESPONSE.test(error ?? ''));
    expect(responded).toHaveLength(refusal && id === webhookIdOf(refusal) ? 2 : 1);
    expect(expectSigned(secret, webhook)).toMatchObject({
      monitorId: delivery.monitorId,
      timestamp: delivery.timestamp,
    });
  }
});

test('a healthy receiver gets all alerts of a mass outage before most deliveries to hanging receivers are attempted', async () => {
  const { context } = system;
  const inputs = Array.from({ length: MONITORS }, (_, index) =>
    createMonitorSchema.parse({
      name: `Shop ${index}`,
      url: 'http://127.0.0.1:1/',
      interval: 86_400,
      regions: [NOWHERE],
    }),
  );
  const written = await context.db.transaction((tx) =>
    insertMonitors({ ...context, tx, defaultRegion: 'default' }, inputs),
  );
  const ids = written.map(({ row }) => row.id);
  receiver.respond = (webhook, response) => {
    if (webhook.path === '/healthy') response.writeHead(204).end();
  };
  for (let index = 0; index < HANGING; index += 1) {
    await system.createChannel(receiver.url(`/hangs/${index}`), ids);
  }
  await system.createChannel(receiver.url('/healthy'), ids);

  const stores = openQueueStores(system.queueUrl, new Map(), () => undefined);
  const producers = new Producers(stores, ENQUEUE_WITHIN_MS);
  await until('the queue to respond', () =>
    stores.main.ping().then(
      () => true,
      () => false,
    ),
  );
  await producers.addStatusChanges(await recordCheck(system, ids, 1, 'DOWN'));
  await until(
    'the healthy receiver to have all',
    () => firstArrivals(receivedAt('/healthy')).length === ALERTS,
  );
  const tried = firstArrivals(receiver.received.filter(({ path }) => path.startsWith('/hangs/'))).length;
  await producers.close();
  await stores.close();
  // If deliveries were sent in order of age, nearly all of those to the hanging receivers would come first.
  expect(tried).toBeLessThan((HANGING * ALERTS) / 2);
});
