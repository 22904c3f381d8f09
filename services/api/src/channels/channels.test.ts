import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { type Channel, channelSchema } from '@tocsin/contracts/channels/channel';
import { channelTestSchema } from '@tocsin/contracts/deliveries/delivery';
import { until } from '@tocsin/embedded/testing/until';
import type { Response } from 'supertest';
import { CHANNELS, newChannel, RECEIVER } from '../testing/channels.ts';
import { attempt } from '../testing/fake-notifier.ts';
import { newMonitor } from '../testing/monitors.ts';
import { signIn } from '../testing/sign-in.ts';
import { stopClock, type StoppedClock } from '../testing/stopped-clock.ts';
import { useTestApi } from '../testing/test-api.ts';

const UNKNOWN = '019a9f0e-5d2e-7c11-8f5a-1c1f4d1b2a3c';
const shutdown = new AbortController();
/** Handles a hint as a notifier does. */
let onHint: (ids: readonly string[]) => Promise<void> = () => Promise.resolve();
const api = await useTestApi({
  shutdown: shutdown.signal,
  producers: { addDeliveries: (ids) => onHint(ids) },
});
const owner = await signIn(api);
const member = await signIn(api, { role: 'member' });
const otherUser = await signIn(api, { accountId: api.other.id });

describe('channels', () => {
  test('a member creates, reads, updates and deletes a channel', async () => {
    const { id } = await newMonitor(api);
    const created = await member
      .post(CHANNELS)
      .send({ name: 'Ops', url: RECEIVER, monitorIds: [id.toUpperCase()] });
    expect(created.status).toBe(201);
    const { channel, secret } = created.body as { channel: { id: string }; secret: string };
    expect(channelSchema.parse(channel)).toMatchObject({
      name: 'Ops',
      url: RECEIVER,
      monitorIds: [id],
      allMonitors: false,
      enabled: true,
      disabledReason: null,
      failingSince: null,
      formatError: null,
    });
    expect(secret).toMatch(/^whsec_/);
    const path = `${CHANNELS}/${channel.id}`;
    expect(created.headers['location']).toBe(path);
    expect((await member.get(path)).body).toEqual({ channel });
    const { etag } = created.headers;
    expect((await member.get(CHANNELS)).body).toEqual({ channels: [{ ...channel, etag }] });
    const update = {
      name: 'Pager',
      url: 'https://pager.invalid',
      monitorIds: [],
      allMonitors: true,
      enabled: false,
    };
    const changed = await member.patch(path).send(update);
    expect(changed.status).toBe(200);
    expect(channelSchema.parse((changed.body as { channel: unknown }).channel)).toMatchObject(update);
    expect((await member.patch(path).send({})).body).toEqual(changed.body);
    expect((await member.delete(path)).status).toBe(204);
    expect((await member.get(path)).status).toBe(404);
  });

  test('all invalid fields of a body are reported at once', async () => {
    const othersMonitor = await newMonitor(api, {}, api.other.key);
    const response = await owner.post(CHANNELS).send({
      url: 'http://hooks.invalid',
      monitorIds: ['x', othersMonitor.id, UNKNOWN],
      enabledd: true,
    });
    expect(response.status).toBe(400);
    const { errors } = response.body as { errors: { path: string }[] };
    expect(errors.map(({ path }) => path).toSorted()).toEqual([
      'enabledd',
      'monitorIds.0',
      'monitorIds.1',
      'monitorIds.2',
      'name',
      'url',
    ]);
  });

  test.each([
    ['url', 'https://10.0.0.1/'],
    ['monitorIds.0', [UNKNOWN]],
    ['disabledReason', null],
  ])('update rejects %s: %j', async (path, value) => {
    const { channel } = await newChannel(owner);
    const [field = ''] = path.split('.');
    const response = await owner.patch(`${CHANNELS}/${channel.id}`).send({ [field]: value });
    expect(response.body).toMatchObject({ status: 400, errors: [{ path }] });
    expect((await owner.get(`${CHANNELS}/${channel.id}`)).body).toEqual({ channel });
  });
});

test('the secret of a channel is shown to owners, and can be rotated', async () => {
  const { channel, secret } = await newChannel(owner);
  const path = `${CHANNELS}/${channel.id}`;
  expect((await owner.get(`${path}/secret`)).body).toEqual({ secret });
  expect((await member.get(`${path}/secret`)).status).toBe(403);
  const { status, body } = await owner.post(`${path}/rotate-secret`);
  const next = body as { secret: string; previousSecretExpiresAt: string };
  expect([status, next.secret === secret]).toEqual([200, false]);
  const hours = (Date.parse(next.previousSecretExpiresAt) - Date.now()) / 3_600_000;
  expect(hours).toBeGreaterThan(23);
  expect(hours).toBeLessThan(24.1);
  expect((await owner.get(`${path}/secret`)).body).toEqual({ secret: next.secret });
  expect((await owner.post(`${path}/rotate-secret`).send({ overlapHours: 1 })).status).toBe(400);
});

describe('the channels that list a monitor', () => {
  const change = (monitorId: string, body: object, user = member): Promise<Response> =>
    user.patch(`/api/dashboard/monitors/${monitorId}/channels`).send(body).then();
  const listed = async (id: string): Promise<string[]> =>
    ((await member.get(`${CHANNELS}/${id}`)).body as { channel: Channel }).channel.monitorIds;

  test('are changed together, and others of the lists stay', async () => {
    const [shop, blog] = [await newMonitor(api), await newMonitor(api)];
    const ids = { allMonitors: false, monitorIds: [blog.id] };
    const [{ channel: one }, { channel: two }] = [
      await newChannel(member, ids),
      await newChannel(member, ids),
    ];
    expect((await change(shop.id, { add: [one.id, two.id] })).status).toBe(204);
    expect(await listed(one.id)).toEqual([shop.id, blog.id]);
    expect((await change(shop.id, { add: [two.id], remove: [one.id] })).status).toBe(204);
    expect([await listed(one.id), await listed(two.id)]).toEqual([[blog.id], [shop.id, blog.id]]);
  });

  test('are changed at the same time by several people, and no change is lost', async () => {
    const { channel } = await newChannel(member, { allMonitors: false });
    const monitors = [await newMonitor(api), await newMonitor(api), await newMonitor(api)];
    const responses = await Promise.all(monitors.map(({ id }) => change(id, { add: [channel.id] })));
    expect(responses.map(({ status }) => status)).toEqual([204, 204, 204]);
    expect(await listed(channel.id)).toEqual(monitors.map(({ id }) => id));
  });

  test('must be of this account, and nothing is changed otherwise', async () => {
    const { id } = await newMonitor(api);
    const { channel } = await newChannel(member, { allMonitors: false });
    const { channel: foreign } = await newChannel(otherUser, { allMonitors: false });
    for (const [body, path] of [
      [{ add: [channel.id, foreign.id] }, 'add.1'],
      [{ add: [channel.id], remove: [foreign.id] }, 'remove.0'],
    ] as const) {
      const response = await change(id, body);
      expect(response.body).toMatchObject({ status: 400, errors: [{ path }] });
    }
    expect(await listed(channel.id)).toEqual([]);
    expect((await change(id, { add: [foreign.id] }, otherUser)).status).toBe(404);
  });
});

describe('testing a channel', () => {
  /** The api's deadlines pass only when a test advances this clock. */
  let clock: StoppedClock;
  let queries: { readonly mock: { readonly calls: readonly unknown[][] }; mockRestore(): void };
  beforeEach(() => {
    clock = stopClock();
    queries = jest.spyOn(api.database.pool, 'query');
  });
  afterEach(() => {
    clock.restore();
    queries.mockRestore();
  });

  /** Waits until a request has polled more than this many times for the outcome of its test event. @returns the number of polls */
  function looksForOutcome(moreThan: number): Promise<number> {
    return until('a request looks for the outcome of its test', () => {
      const polls = queries.mock.calls.filter(([query]) =>
        JSON.stringify(query).includes('left join \\"attempts\\"'),
      ).length;
      return polls > moreThan && polls;
    });
  }

  async function deliveriesOf(channelId: string): Promise<unknown[]> {
    const { body } = await member.get(`${CHANNELS}/${channelId}/deliveries`);
    return (body as { deliveries: unknown[] }).deliveries;
  }

  test.each([
    [204, true, null],
    [503, false, 'responded with 503'],
  ])('returns the outcome: %i', async (statusCode, delivered, error) => {
    onHint = (ids) => attempt(api, ids, statusCode);
    const { channel } = await newChannel(member);
    await member.patch(`${CHANNELS}/${channel.id}`).send({ enabled: false });
    const response = await member.post(`${CHANNELS}/${channel.id}/test`);
    expect(response.status).toBe(200);
    expect(channelTestSchema.parse(response.body)).toMatchObject({
      delivered,
      attempt: { statusCode, error, durationMs: 12, responseExcerpt: 'thanks' },
    });
    expect(await deliveriesOf(channel.id)).toMatchObject([
      { state: delivered ? 'delivered' : 'failed', test: true },
    ]);
  });

  test('without a notifier or a queue: 504 after ten seconds, and nothing is sent later', async () => {
    onHint = () => Promise.reject(new Error('no queue'));
    const { channel } = await newChannel(member);
    let responded = false;
    const pending = member.post(`${CHANNELS}/${channel.id}/test`).then((response) => {
      responded = true;
      return response;
    });
    const before = await looksForOutcome(0);
    clock.advance(9_999);
    await looksForOutcome(before + 2);
    expect(responded).toBe(false);
    clock.advance(1);
    expect((await pending).body).toMatchObject({
      status: 504,
      type: 'urn:tocsin:problem:delivery-not-attempted',
    });
    expect(await deliveriesOf(channel.id)).toMatchObject([
      { state: 'failed', nextAttemptAt: null, attemptCount: 0 },
    ]);
  });

  test('that is deleted meanwhile: 404; on a server that stops: 503', async () => {
    const { channel } = await newChannel(member);
    onHint = async () => void (await member.delete(`${CHANNELS}/${channel.id}`));
    expect((await member.post(`${CHANNELS}/${channel.id}/test`)).status).toBe(404);
    const { channel: other } = await newChannel(member);
    onHint = async () => shutdown.abort();
    expect((await member.post(`${CHANNELS}/${other.id}/test`)).status).toBe(503);
  });
});
