import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Channel, channelSchema } from '@tocsin/contracts/channels/channel';
import { claimDeliveries } from '@tocsin/db/deliveries/claim-deliveries';
import type { Response } from 'supertest';
import type TestAgent from 'supertest/lib/agent.js';
import { CHANNELS, goDown, newChannel, RECEIVER } from '../testing/channels.ts';
import { newMonitor } from '../testing/monitors.ts';
import { signIn } from '../testing/sign-in.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

const UNKNOWN = '019a9f0e-5d2e-7c11-8f5a-1c1f4d1b2a3c';
let api: TestApi;
let owner: TestAgent;
let member: TestAgent;
let otherUser: TestAgent;
beforeAll(async () => {
  api = await openTestApi();
  owner = await signIn(api);
  member = await signIn(api, { role: 'member' });
  otherUser = await signIn(api, { accountId: api.other.id });
});
afterAll(() => api.close());

describe('channels', () => {
  test('a member creates, reads, updates and deletes a channel', async () => {
    const { id } = await newMonitor(api);
    const created = await member
      .post(CHANNELS)
      .send({ name: ' Ops ', url: RECEIVER, monitorIds: [id.toUpperCase()] });
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
    });
    expect(secret).toMatch(/^whsec_/);
    const path = `${CHANNELS}/${channel.id}`;
    expect(created.headers['location']).toBe(path);
    expect((await member.get(path)).body).toEqual({ channel });
    expect((await member.get(CHANNELS)).body).toEqual({ channels: [channel] });
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
      name: ' ',
      url: 'http://hooks.invalid',
      monitorIds: ['x', othersMonitor.id, UNKNOWN],
      allMonitors: 1,
      enabledd: true,
    });
    expect(response.status).toBe(400);
    const { errors } = response.body as { errors: { path: string; message: string }[] };
    expect(errors.map(({ path }) => path).toSorted()).toEqual([
      'allMonitors',
      'enabledd',
      'monitorIds.0',
      'monitorIds.1',
      'monitorIds.2',
      'name',
      'url',
    ]);
    expect(errors.find(({ path }) => path === 'url')?.message).toContain('plain HTTP is refused');
  });

  test.each([
    ['name', undefined],
    ['name', 'x'.repeat(256)],
    ['name', null],
    ['url', undefined],
    ['url', ''],
    ['url', 'hooks.example'],
    ['url', 'ftp://hooks.invalid'],
    ['url', 'http://hooks.invalid/'],
    ['url', 'https://user:password@hooks.invalid/'],
    ['url', 'https://@hooks.invalid/'],
    ['url', 'https://:@hooks.invalid/'],
    ['url', `https://hooks.invalid/${'x'.repeat(2_048)}`],
    ['url', 'https://127.0.0.1/hook'],
    ['url', 'https://[::1]/hook'],
    ['url', 'https://169.254.169.254/latest'],
    ['url', 'https://0x7f000001/'],
    ['url', 'https://localhost/hook'],
    ['monitorIds', undefined],
    ['monitorIds', 'all'],
    ['monitorIds.0', ['x']],
    ['monitorIds.0', [UNKNOWN]],
    ['allMonitors', 'yes'],
    ['enabled', true],
  ])('create rejects %s: %j', async (path, value) => {
    const [field = ''] = path.split('.');
    const body = { name: 'Ops', url: RECEIVER, monitorIds: [], [field]: value };
    const response = await owner.post(CHANNELS).send(body);
    expect(response.status).toBe(400);
    expect(response.body).toMatchObject({ errors: [{ path, message: expect.any(String) }] });
  });

  test.each([
    ['name', ''],
    ['url', 'https://10.0.0.1/'],
    ['url', null],
    ['monitorIds.0', [UNKNOWN]],
    ['allMonitors', null],
    ['enabled', 'false'],
    ['secret', 'whsec_'],
    ['disabledReason', null],
  ])('update rejects %s: %j', async (path, value) => {
    const { channel } = await newChannel(owner);
    const [field = ''] = path.split('.');
    const response = await owner.patch(`${CHANNELS}/${channel.id}`).send({ [field]: value });
    expect(response.status).toBe(400);
    expect(response.body).toMatchObject({ errors: [{ path }] });
    expect((await owner.get(`${CHANNELS}/${channel.id}`)).body).toEqual({ channel });
  });

  test('a duplicate monitor is rejected', async () => {
    const { id } = await newMonitor(api);
    const body = { name: 'Ops', url: RECEIVER, monitorIds: [id, id] };
    expect((await owner.post(CHANNELS).send(body)).body).toMatchObject({
      errors: [{ path: 'monitorIds.1' }],
    });
  });

  test.each([
    ['get', ''],
    ['patch', ''],
    ['delete', ''],
    ['get', '/secret'],
    ['post', '/rotate-secret'],
    ['post', '/test'],
    ['get', '/deliveries'],
    ['post', '/redeliver'],
  ] as const)("%s :id%s: 404 for another account's, an unknown or a malformed id", async (method, rest) => {
    const { channel } = await newChannel(owner);
    for (const [user, id] of [
      [otherUser, channel.id],
      [owner, UNKNOWN],
      [owner, 'nonsense'],
    ] as const) {
      const response = await user[method](`${CHANNELS}/${id}${rest}`);
      expect(response.status).toBe(404);
      expect(response.body).toMatchObject({ detail: 'There is no channel with this id.' });
    }
    expect((await owner.get(`${CHANNELS}/${channel.id}`)).body).toEqual({ channel });
  });

  test('other methods: 405; a malformed body: 400', async () => {
    const { channel } = await newChannel(owner);
    const put = await owner.put(`${CHANNELS}/${channel.id}`).send({});
    expect([put.status, put.headers['allow']]).toEqual([405, 'GET, HEAD, PATCH, DELETE']);
    const broken = await owner.post(CHANNELS).set('Content-Type', 'application/json').send('{"name":');
    expect(broken.status).toBe(400);
  });
});

test('an unknown channel or delivery is reported before an invalid body', async () => {
  for (const path of [
    `channels/${UNKNOWN}/test`,
    `channels/${UNKNOWN}/rotate-secret`,
    `deliveries/${UNKNOWN}/redeliver`,
  ]) {
    const response = await owner.post(`/api/dashboard/${path}`).send({ force: true });
    expect([path, response.status]).toEqual([path, 404]);
  }
});

describe('the secret of a channel', () => {
  test('is revealed to an owner, but not to a member', async () => {
    const { channel, secret } = await newChannel(owner);
    const revealed = await owner.get(`${CHANNELS}/${channel.id}/secret`);
    expect([revealed.status, revealed.body]).toEqual([200, { secret }]);
    expect(revealed.headers['cache-control']).toBe('no-store, no-transform');
    expect((await member.get(`${CHANNELS}/${channel.id}/secret`)).status).toBe(403);
  });

  test('can be rotated: the previous one signs for another 24 hours', async () => {
    const monitor = await newMonitor(api);
    const { channel, secret } = await newChannel(owner, { allMonitors: false, monitorIds: [monitor.id] });
    const earliest = Date.now();
    const rotated = await owner.post(`${CHANNELS}/${channel.id}/rotate-secret`);
    const latest = Date.now();
    expect(rotated.status).toBe(200);
    const next = rotated.body as { secret: string; previousSecretExpiresAt: string };
    expect(next.secret).not.toBe(secret);
    const rotatedAt = Date.parse(next.previousSecretExpiresAt) - 24 * 3_600_000;
    // Postgres has a clock of its own.
    expect(rotatedAt).toBeGreaterThan(earliest - 1_000);
    expect(rotatedAt).toBeLessThan(latest + 1_000);
    expect((await owner.get(`${CHANNELS}/${channel.id}/secret`)).body).toEqual({ secret: next.secret });
    const ids = await goDown(api, monitor.id);
    const claims = await Promise.all(ids.map((deliveryId) => claimDeliveries(api.context, { deliveryId })));
    const claimed = claims.flat().find((delivery) => delivery.channelId === channel.id);
    expect(claimed?.secrets).toEqual([next.secret, secret]);
    const extra = await owner.post(`${CHANNELS}/${channel.id}/rotate-secret`).send({ overlapHours: 1 });
    expect(extra.status).toBe(400);
  });
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
    const monitors = [
      await newMonitor(api),
      await newMonitor(api),
      await newMonitor(api),
      await newMonitor(api),
    ];
    const responses = await Promise.all(monitors.map(({ id }) => change(id, { add: [channel.id] })));
    expect(responses.map(({ status }) => status)).toEqual([204, 204, 204, 204]);
    expect(await listed(channel.id)).toEqual(monitors.map(({ id }) => id));
  });

  test('are recorded in the audit log only if something changed', async () => {
    const { id } = await newMonitor(api);
    const { channel } = await newChannel(member, { allMonitors: false });
    const updates = async (): Promise<number> =>
      (
        await api.database.pool.query(
          `select from audit_log where action = 'channel.updated' and target ->> 'id' = $1`,
          [channel.id],
        )
      ).rowCount ?? 0;
    await change(id, { add: [channel.id] });
    expect(await updates()).toBe(1);
    await change(id, { add: [channel.id] });
    await change(id, {});
    expect(await updates()).toBe(1);
  });

  test('must be of this account, and nothing is changed otherwise', async () => {
    const { id } = await newMonitor(api);
    const { channel } = await newChannel(member, { allMonitors: false });
    const { channel: foreign } = await newChannel(otherUser, { allMonitors: false });
    for (const [body, path] of [
      [{ add: [channel.id, foreign.id] }, 'add.1'],
      [{ add: [channel.id], remove: [foreign.id] }, 'remove.0'],
      [{ add: ['x'] }, 'add.0'],
      [{ add: [channel.id], remove: [channel.id] }, 'remove'],
    ] as const) {
      const response = await change(id, body);
      expect([response.status, response.body]).toEqual([
        400,
        expect.objectContaining({ errors: [expect.objectContaining({ path })] }),
      ]);
    }
    expect(await listed(channel.id)).toEqual([]);
    expect((await change(id, { add: [foreign.id] }, otherUser)).status).toBe(404);
  });
});
