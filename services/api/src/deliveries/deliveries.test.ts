import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import {
  type Delivery,
  deliveryDetailSchema,
  deliverySchema,
  redeliveryResultSchema,
} from '@tocsin/contracts/deliveries/delivery';
import type TestAgent from 'supertest/lib/agent.js';
import { CHANNELS, goDown, newChannel } from '../testing/channels.ts';
import { attempt } from '../testing/fake-notifier.ts';
import { newMonitor } from '../testing/monitors.ts';
import { signIn } from '../testing/sign-in.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

const DELIVERIES = '/api/dashboard/deliveries';
const UNKNOWN = '019a9f0e-5d2e-7c11-8f5a-1c1f4d1b2a3c';
const EVER = { since: '2000-01-01T00:00:00Z', until: '2100-01-01T00:00:00+01:00' };
let api: TestApi;
/** The signal of a service that stops. */
let stopping: TestApi;
let member: TestAgent;
let otherUser: TestAgent;
let hints: string[] = [];
let channelId: string;
/** `monitor.down`, then `incident.created`. */
let deliveries: Delivery[];

beforeAll(async () => {
  api = await openTestApi({
    producers: {
      addTrigger: () => Promise.resolve(),
      addStatusChanges: () => Promise.resolve(),
      addDeliveries: async (ids) => void hints.push(...ids),
    },
  });
  stopping = await openTestApi({ shutdown: AbortSignal.abort() });
  member = await signIn(api, { role: 'member' });
  otherUser = await signIn(api, { accountId: api.other.id });
});
afterAll(async () => {
  await stopping.close();
  await api.close();
});

/** Held deliveries of a channel, a minute apart. */
async function addHeld({ database, account }: TestApi, channel: string, count: number): Promise<void> {
  await database.pool.query(
    `insert into deliveries (id, account_id, channel_id, status_change_id, monitor_id, event, timestamp, payload, state, next_attempt_at)
     select gen_random_uuid(), $1, $2, gen_random_uuid(), gen_random_uuid(), 'monitor.down',
       timestamptz '2026-01-01' + i * interval '1 minute', i, 'held', null
     from generate_series(1, $3::int) i`,
    [account.id, channel, count],
  );
}

beforeEach(async () => {
  const monitor = await newMonitor(api);
  const created = await newChannel(member, { allMonitors: false, monitorIds: [monitor.id] });
  channelId = created.channel.id;
  await goDown(api, monitor.id);
  deliveries = (await log()).toSorted((one, other) => one.timestamp.localeCompare(other.timestamp));
  hints = [];
});

async function log(query: object = {}): Promise<Delivery[]> {
  const response = await member.get(`${CHANNELS}/${channelId}/deliveries`).query(query);
  if (response.status !== 200) throw new Error(JSON.stringify(response.body));
  return (response.body as { deliveries: Delivery[] }).deliveries;
}

async function first(): Promise<string> {
  const id = deliveries[0]?.id ?? '';
  await attempt(api, [id], 500);
  return id;
}

describe('deliveries of a channel', () => {
  test('are listed, filtered and paged', async () => {
    const all = await log();
    expect(all.map((line) => deliverySchema.parse(line))).toHaveLength(2);
    expect(all[0]).toMatchObject({ state: 'pending', attemptCount: 0, deliveredAt: null, test: false });
    const [newest] = await log({ limit: 1 });
    expect(newest).toEqual(all[0]);
    expect(await log({ limit: 1, before: newest?.id })).toEqual([all[1]]);
    const id = await first();
    expect((await log({ state: 'failed' })).map((line) => line.id)).toEqual([id]);
    expect(await log({ state: 'held' })).toEqual([]);
  });

  test.each([
    ['limit', '0'],
    ['limit', 'all'],
    ['state', 'lost'],
    ['before', 'yesterday'],
    ['before', UNKNOWN],
  ])('%s=%s is rejected', async (field, value) => {
    const response = await member.get(`${CHANNELS}/${channelId}/deliveries`).query({ [field]: value });
    expect(response.status).toBe(400);
    expect(response.body).toMatchObject({ errors: [{ path: field }] });
  });

  test('a single one has its body and its attempts', async () => {
    const id = await first();
    const { status, body } = await member.get(`${DELIVERIES}/${id}`);
    expect(status).toBe(200);
    const delivery = deliveryDetailSchema.parse((body as { delivery: unknown }).delivery);
    expect(JSON.parse(delivery.payload)).toMatchObject({
      event: 'monitor.down',
      timestamp: delivery.timestamp,
    });
    expect(delivery.attempts).toEqual([
      {
        number: 1,
        startedAt: expect.any(String),
        durationMs: 12,
        statusCode: 500,
        error: 'responded with 500',
        responseExcerpt: 'thanks',
      },
    ]);
  });

  test("another account's, an unknown and a malformed id: 404", async () => {
    const id = deliveries[0]?.id ?? '';
    for (const [user, path] of [
      [otherUser, id],
      [member, UNKNOWN],
      [member, 'nonsense'],
    ] as const) {
      expect((await user.get(`${DELIVERIES}/${path}`)).status).toBe(404);
      expect((await user.post(`${DELIVERIES}/${path}/redeliver`)).status).toBe(404);
    }
    expect(await log()).toHaveLength(2);
  });
});

describe('redelivery', () => {
  test('of one delivery makes it due again, with a hint', async () => {
    const id = await first();
    const { status, body } = await member.post(`${DELIVERIES}/${id}/redeliver`);
    expect(status).toBe(202);
    expect(deliverySchema.parse((body as { delivery: unknown }).delivery)).toMatchObject({
      id,
      state: 'pending',
      nextAttemptAt: expect.any(String),
      attemptCount: 1,
    });
    expect(hints).toEqual([id]);
    await attempt(api, [id], 200);
    expect(await log({ state: 'delivered' })).toMatchObject([{ id, attemptCount: 2 }]);
    expect((await member.post(`${DELIVERIES}/${id}/redeliver`).send({ force: true })).status).toBe(400);
  });

  test('of a channel covers undelivered deliveries in a time range', async () => {
    await first();
    const path = `${CHANNELS}/${channelId}/redeliver`;
    const { status, body } = await member.post(path).send(EVER);
    expect([status, body]).toEqual([202, { count: 2, more: false }]);
    expect(hints).toEqual(deliveries.map(({ id }) => id));
    const span = { since: deliveries[1]?.timestamp, until: EVER.until };
    expect((await member.post(path).send(span)).body).toEqual({ count: 1, more: false });
    expect(
      (await member.post(path).send({ since: EVER.since, until: deliveries[0]?.timestamp })).body,
    ).toEqual({
      count: 0,
      more: false,
    });
  });

  test('of a channel ends early if it takes too long or the api stops; the same request continues', async () => {
    const user = await signIn(stopping, { role: 'member' });
    const { channel } = await newChannel(user, { allMonitors: false });
    await addHeld(stopping, channel.id, 2_500);
    const releases: unknown[] = [];
    for (let request = 0; request < 3; request += 1) {
      const { status, body, headers } = await user.post(`${CHANNELS}/${channel.id}/redeliver`).send(EVER);
      const { rowCount } = await stopping.database.pool.query(`select from deliveries where state = 'held'`);
      releases.push([status, redeliveryResultSchema.parse(body), 'retry-after' in headers, rowCount]);
    }
    expect(releases).toEqual([
      [202, { count: 1_000, more: true }, true, 1_500],
      [202, { count: 1_000, more: true }, true, 500],
      [202, { count: 1_000, more: false }, false, 0],
    ]);
  });

  test('of a channel that is disabled meanwhile reports and hints at what was released before', async () => {
    await addHeld(api, channelId, 1_500);
    await api.database.pool.query(`
      create function disable_channel() returns trigger language plpgsql as $$ begin
        update channels set enabled = false where id = new.channel_id; return null;
      end $$`);
    await api.database.pool.query(`
      create trigger disable_channel after update on deliveries for each row when (new.payload = '1000')
      execute function disable_channel()`);
    try {
      const response = await member.post(`${CHANNELS}/${channelId}/redeliver`).send(EVER);
      expect([response.status, response.body]).toEqual([202, { count: 1_000, more: true }]);
      expect(response.headers).toHaveProperty('retry-after');
      expect(hints).toHaveLength(1_000);
    } finally {
      await api.database.pool.query('drop trigger disable_channel on deliveries');
    }
    const again = await member.post(`${CHANNELS}/${channelId}/redeliver`).send(EVER);
    expect(again.status).toBe(409);
  });

  test('of a disabled channel: 409 with advice', async () => {
    const id = await first();
    await member.patch(`${CHANNELS}/${channelId}`).send({ enabled: false });
    for (const path of [`${DELIVERIES}/${id}/redeliver`, `${CHANNELS}/${channelId}/redeliver`]) {
      const response = await member.post(path).send(path.startsWith(CHANNELS) ? EVER : undefined);
      expect(response.status).toBe(409);
      expect(response.body).toMatchObject({ detail: 'This channel is disabled: enable it first.' });
    }
  });

  test.each([
    ['since', { until: EVER.until }],
    ['until', { since: EVER.since }],
    ['since', { ...EVER, since: 'yesterday' }],
    ['until', { ...EVER, until: 5 }],
    ['until', { since: EVER.until, until: EVER.since }],
    ['state', { ...EVER, state: 'failed' }],
    ['states', { ...EVER, states: [] }],
    ['states.1', { ...EVER, states: ['held', 'delivered'] }],
  ])('of a channel rejects %s: %j', async (path, body) => {
    const response = await member.post(`${CHANNELS}/${channelId}/redeliver`).send(body);
    expect(response.status).toBe(400);
    expect(response.body).toMatchObject({ errors: [{ path }] });
  });
});

describe('held deliveries', () => {
  const heldPath = (): string => `${CHANNELS}/${channelId}/held-deliveries`;

  test('are counted, and sent without those that failed or wait', async () => {
    await first();
    expect((await member.get(heldPath())).body).toEqual({ held: { count: 0, since: null } });
    await addHeld(api, channelId, 3);
    const { body } = await member.get(heldPath());
    expect(body).toEqual({ held: { count: 3, since: '2026-01-01T00:01:00.000Z' } });
    const sent = await member
      .post(`${CHANNELS}/${channelId}/redeliver`)
      .send({ since: '2026-01-01T00:01:00.000Z', until: EVER.until, states: ['held'] });
    expect([sent.status, sent.body]).toEqual([202, { count: 3, more: false }]);
    expect(await log({ state: 'failed' })).toHaveLength(1);
    expect((await member.get(heldPath())).body).toEqual({ held: { count: 0, since: null } });
  });

  test('are discarded: they stay in the log as failed, and can be redelivered', async () => {
    await addHeld(api, channelId, 3);
    await member.patch(`${CHANNELS}/${channelId}`).send({ enabled: false });
    const response = await member.post(`${heldPath()}/discard`);
    // The channel has held the two deliveries that were pending, too.
    expect([response.status, response.body]).toEqual([200, { count: 5, more: false }]);
    expect(await log({ state: 'failed' })).toHaveLength(5);
    expect((await member.post(`${heldPath()}/discard`)).body).toEqual({ count: 0, more: false });
    await member.patch(`${CHANNELS}/${channelId}`).send({ enabled: true });
    const { body } = await member.post(`${CHANNELS}/${channelId}/redeliver`).send(EVER);
    expect(body).toEqual({ count: 5, more: false });
  });

  test('are discarded in steps if the api stops; the same request continues', async () => {
    const user = await signIn(stopping, { role: 'member' });
    const { channel } = await newChannel(user, { allMonitors: false });
    await addHeld(stopping, channel.id, 1_200);
    const discards: unknown[] = [];
    for (let request = 0; request < 2; request += 1) {
      const { body, headers } = await user.post(`${CHANNELS}/${channel.id}/held-deliveries/discard`);
      discards.push([body, 'retry-after' in headers]);
    }
    expect(discards).toEqual([
      [{ count: 1_000, more: true }, true],
      [{ count: 200, more: false }, false],
    ]);
  });

  test('of another account are not found', async () => {
    expect((await otherUser.get(heldPath())).status).toBe(404);
    expect((await otherUser.post(`${heldPath()}/discard`)).status).toBe(404);
  });
});
