import { beforeEach, describe, expect, test } from '@jest/globals';
import { type Delivery, deliveryDetailSchema, deliverySchema } from '@tocsin/contracts/deliveries/delivery';
import { CHANNELS, goDown, newChannel } from '../testing/channels.ts';
import { attempt } from '../testing/fake-notifier.ts';
import { newMonitor } from '../testing/monitors.ts';
import { signIn } from '../testing/sign-in.ts';
import { type TestApi, useTestApi } from '../testing/test-api.ts';

const DELIVERIES = '/api/dashboard/deliveries';
const UNKNOWN = '019a9f0e-5d2e-7c11-8f5a-1c1f4d1b2a3c';
const EVER = { since: '2000-01-01T00:00:00Z', until: '2100-01-01T00:00:00+01:00' };
let hints: string[] = [];
let channelId: string;
/** `monitor.down`, then `incident.created`. */
let deliveries: Delivery[];

const api = await useTestApi({ producers: { addDeliveries: async (ids) => void hints.push(...ids) } });
/** An api that stops. */
const stopping = await useTestApi({ shutdown: AbortSignal.abort() });
const member = await signIn(api, { role: 'member' });

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

/** Lets the first delivery fail. @returns its id */
async function failFirst(): Promise<string> {
  const id = deliveries[0]?.id ?? '';
  await attempt(api, [id], 500);
  return id;
}

async function redeliver(body: object): Promise<[status: number, body: unknown]> {
  const response = await member.post(`${CHANNELS}/${channelId}/redeliver`).send(body);
  return [response.status, response.body];
}

describe('deliveries of a channel', () => {
  test('are listed, filtered and paged', async () => {
    const all = await log();
    expect(all.map((line) => deliverySchema.parse(line))).toHaveLength(2);
    expect(all[0]).toMatchObject({ state: 'pending', attemptCount: 0, deliveredAt: null, test: false });
    expect(await log({ limit: 1, before: all[0]?.id })).toEqual([all[1]]);
    const id = await failFirst();
    expect((await log({ state: 'failed' })).map((line) => line.id)).toEqual([id]);
    for (const [field, value] of [
      ['limit', '0'],
      ['state', 'lost'],
      ['before', UNKNOWN],
    ] as const) {
      const { body } = await member.get(`${CHANNELS}/${channelId}/deliveries`).query({ [field]: value });
      expect(body).toMatchObject({ status: 400, errors: [{ path: field }] });
    }
  });

  test('have a body and attempts', async () => {
    const id = await failFirst();
    const { body } = await member.get(`${DELIVERIES}/${id}`);
    const delivery = deliveryDetailSchema.parse((body as { delivery: unknown }).delivery);
    const { timestamp } = delivery;
    expect(JSON.parse(delivery.payload)).toMatchObject({ event: 'monitor.down', timestamp });
    expect(delivery.attempts).toMatchObject([
      { number: 1, durationMs: 12, statusCode: 500, error: 'responded with 500', responseExcerpt: 'thanks' },
    ]);
  });
});

describe('redelivery', () => {
  test('of one delivery makes it due again, with a hint', async () => {
    const id = await failFirst();
    const { status, body } = await member.post(`${DELIVERIES}/${id}/redeliver`);
    expect(status).toBe(202);
    expect(deliverySchema.parse((body as { delivery: unknown }).delivery)).toMatchObject({
      id,
      state: 'pending',
      nextAttemptAt: expect.any(String),
      attemptCount: 1,
    });
    expect(hints).toEqual([id]);
    expect((await member.post(`${DELIVERIES}/${id}/redeliver`).send({ force: true })).status).toBe(400);
  });

  test('of a channel covers undelivered deliveries in a time range', async () => {
    await failFirst();
    expect(await redeliver(EVER)).toEqual([202, { count: 2, more: false }]);
    expect(hints).toEqual([deliveries[0]?.id]);
    const later = { since: deliveries[1]?.timestamp, until: EVER.until };
    expect(await redeliver(later)).toEqual([202, { count: 1, more: false }]);
  });

  test('of a channel, or discarding its held deliveries, ends early if the api stops, and continues with the same request', async () => {
    const user = await signIn(stopping, { role: 'member' });
    const { channel } = await newChannel(user, { allMonitors: false });
    const twice = async (path: string, body: object): Promise<unknown[]> => {
      await addHeld(stopping, channel.id, 1_200);
      const outcomes: unknown[] = [];
      for (let request = 0; request < 2; request += 1) {
        const response = await user.post(`${CHANNELS}/${channel.id}/${path}`).send(body);
        const { rowCount } = await stopping.database.pool.query(
          `select from deliveries where state = 'held'`,
        );
        outcomes.push([response.body, 'retry-after' in response.headers, rowCount]);
      }
      return outcomes;
    };
    expect(await twice('held-deliveries/discard', {})).toEqual([
      [{ count: 1_000, more: true }, true, 200],
      [{ count: 200, more: false }, false, 0],
    ]);
    await stopping.database.pool.query('delete from deliveries');
    expect(await twice('redeliver', EVER)).toEqual([
      [{ count: 1_000, more: true }, true, 200],
      // Counts deliveries that the first request made due again, too.
      [{ count: 1_000, more: false }, false, 0],
    ]);
  });

  test('of a channel that is disabled meanwhile reports what was released before, and sends a hint about it', async () => {
    await addHeld(api, channelId, 1_001);
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
      expect(hints).toHaveLength(1);
    } finally {
      await api.database.pool.query('drop trigger disable_channel on deliveries');
    }
    expect(await redeliver(EVER)).toMatchObject([409, {}]);
  });

  test('of a disabled channel: 409 with advice', async () => {
    const id = await failFirst();
    await member.patch(`${CHANNELS}/${channelId}`).send({ enabled: false });
    const { body } = await member.post(`${DELIVERIES}/${id}/redeliver`);
    const problem = { status: 409, detail: 'This channel is disabled. Enable it first.' };
    expect([body, (await redeliver(EVER))[1]]).toMatchObject([problem, problem]);
  });

  test('of a channel validates its body', async () => {
    for (const [path, body] of [
      ['since', { until: EVER.until }],
      ['until', { since: EVER.until, until: EVER.since }],
      ['states.1', { ...EVER, states: ['held', 'delivered'] }],
    ] as const)
      expect([body, ...(await redeliver(body))]).toMatchObject([body, 400, { errors: [{ path }] }]);
  });
});

describe('held deliveries', () => {
  const heldPath = (): string => `${CHANNELS}/${channelId}/held-deliveries`;

  test('are counted, and sent without those that failed or wait', async () => {
    await failFirst();
    const none = { held: { count: 0, since: null } };
    expect((await member.get(heldPath())).body).toEqual(none);
    await addHeld(api, channelId, 3);
    const since = '2026-01-01T00:01:00.000Z';
    expect((await member.get(heldPath())).body).toEqual({ held: { count: 3, since } });
    expect(await redeliver({ ...EVER, since, states: ['held'] })).toEqual([202, { count: 3, more: false }]);
    expect(await log({ state: 'failed' })).toHaveLength(1);
    expect((await member.get(heldPath())).body).toEqual(none);
  });

  test('can be discarded, stay in the log as failed, and can be redelivered', async () => {
    await addHeld(api, channelId, 3);
    await member.patch(`${CHANNELS}/${channelId}`).send({ enabled: false });
    const response = await member.post(`${heldPath()}/discard`);
    // The channel has also held the two pending deliveries.
    expect([response.status, response.body]).toEqual([200, { count: 5, more: false }]);
    expect(await log({ state: 'failed' })).toHaveLength(5);
    expect((await member.post(`${heldPath()}/discard`)).body).toEqual({ count: 0, more: false });
    await member.patch(`${CHANNELS}/${channelId}`).send({ enabled: true });
    expect(await redeliver(EVER)).toEqual([202, { count: 5, more: false }]);
  });
});
