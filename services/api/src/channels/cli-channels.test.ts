import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Channel, channelSchema } from '@tocsin/contracts/channels/channel';
import type { MonitorSetResult } from '@tocsin/contracts/monitor-sets/monitor-set';
import type { Problem } from '@tocsin/contracts/errors';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { revealChannelSecret } from '@tocsin/db/channels/channel-secrets';
import { createApiKey } from '@tocsin/db/api-keys/api-keys';
import { RECEIVER } from '../testing/channels.ts';
import { MONITORS, newMonitor } from '../testing/monitors.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

const CHANNELS = '/api/cli/channels';
const SECRET = `whsec_${Buffer.alloc(24, 1).toString('base64')}`;

/** URLs whose receivers were checked. */
const checked: string[] = [];
let api: TestApi;
let teamKey: string;
beforeAll(async () => {
  api = await openTestApi();
  const { egress } = api.context;
  const { checkUrl } = egress;
  Object.assign(egress, {
    checkUrl: (url: string, account: string) => {
      checked.push(url);
      return checkUrl(url, account);
    },
  });
  const fields = { name: 'team', sources: ['team/*'] };
  teamKey = (await createApiKey(api.context.db, systemActor(api.account.id), fields)).key;
});
afterAll(() => api.close());

interface Created {
  readonly channel: Channel;
  readonly secret: string;
}

async function create(fields: object, key?: string): Promise<Created> {
  const response = await api
    .as(key)
    .post(CHANNELS)
    .send({ name: 'Ops', url: RECEIVER, ...fields });
  expect([response.status, response.body]).toEqual([201, expect.anything()]);
  return response.body as Created;
}

describe('the channels API for programs', () => {
  test('creates, reads, updates and deletes a channel', async () => {
    const monitor = await newMonitor(api);
    const fields = { selector: { matchLabels: { app: 'shop' } }, externalId: 'ops', source: 'shop' };
    const created = await api
      .as()
      .post(CHANNELS)
      .send({ name: 'Ops', url: RECEIVER, ...fields });
    expect(created.status).toBe(201);
    expect(created.headers['cache-control']).toBe('no-store, no-transform');
    const { channel, secret } = created.body as Created;
    expect(channelSchema.parse(channel)).toMatchObject({ ...fields, monitorIds: [], enabled: true });
    expect(secret).toMatch(/^whsec_/);
    const path = `${CHANNELS}/${channel.id}`;
    expect(created.headers['location']).toBe(path);
    expect((await api.as().get(path)).body).toEqual({ channel });
    expect((await api.as().get(CHANNELS)).body).toEqual({ channels: [channel] });
    const update = {
      name: 'Pager',
      monitorIds: [monitor.id],
      selector: null,
      externalId: null,
      enabled: false,
    };
    const updated = await api.as().patch(path).send(update);
    expect([updated.status, updated.body]).toEqual([200, { channel: expect.objectContaining(update) }]);
    expect((await api.as().delete(path)).status).toBe(204);
    expect((await api.as().get(path)).status).toBe(404);
  });

  test('takes a secret, and never shows it again', async () => {
    const { channel, secret } = await create({ secret: SECRET });
    expect(secret).toBe(SECRET);
    const actor = systemActor(api.account.id);
    expect(await revealChannelSecret(api.context, actor, channel.id)).toBe(SECRET);
    const read = await api.as().get(`${CHANNELS}/${channel.id}`);
    expect(read.text).not.toContain('whsec_');
  });

  test.each([
    ['not base64', 'whsec_nonsense'],
    ['without a prefix', SECRET.slice(6)],
    ['without padding', `whsec_${Buffer.alloc(25).toString('base64').replace('==', '')}`],
    ['too short', `whsec_${Buffer.alloc(23).toString('base64')}`],
    ['too long', `whsec_${Buffer.alloc(65).toString('base64')}`],
    ['null', null],
  ])('refuses a secret that is %s, without repeating it', async (_, secret) => {
    const response = await api.as().post(CHANNELS).send({ name: 'Ops', url: RECEIVER, secret });
    expect(response.status).toBe(400);
    expect(response.body).toMatchObject({ errors: [{ path: 'secret' }] });
    if (secret !== null) expect(response.text).not.toContain(secret);
  });

  test('an externalId that another channel has is a conflict that names the channel', async () => {
    const { channel } = await create({ externalId: 'taken' });
    const conflict = {
      errors: [{ path: 'externalId' }],
      conflictingId: channel.id,
    };
    const second = await api.as().post(CHANNELS).send({ name: 'Ops', url: RECEIVER, externalId: 'taken' });
    expect([second.status, second.body]).toMatchObject([409, conflict]);
    const { channel: other } = await create({});
    const renamed = await api.as().patch(`${CHANNELS}/${other.id}`).send({ externalId: 'taken' });
    expect([renamed.status, renamed.body]).toMatchObject([409, conflict]);
    // Its own, another account's and a deleted channel's do not conflict.
    const path = `${CHANNELS}/${channel.id}`;
    expect((await api.as().patch(path).send({ externalId: 'taken' })).status).toBe(200);
    await create({ externalId: 'taken' }, api.other.key);
    expect((await api.as().delete(path)).status).toBe(204);
    await create({ externalId: 'taken' });
  });

  test('a key without the scope write reads, but changes nothing', async () => {
    const { channel } = await create({});
    const { key } = await api.newKey('read');
    const path = `${CHANNELS}/${channel.id}`;
    expect((await api.as(key).get(path)).status).toBe(200);
    expect((await api.as(key).post(CHANNELS).send({ name: 'Ops', url: RECEIVER })).status).toBe(403);
    expect((await api.as(key).patch(path).send({ name: 'x' })).status).toBe(403);
    expect((await api.as(key).delete(path)).status).toBe(403);
    expect((await api.as().get(path)).body).toEqual({ channel });
  });

  test('a key that is bound to sources changes only channels of these sources', async () => {
    const { channel: none } = await create({});
    const { channel: theirs } = await create({ source: 'shop' });
    const { channel: own } = await create({ source: 'team/a' }, teamKey);
    const refused = [403, { type: 'urn:tocsin:problem:source-not-allowed' }];
    const expectRefused = async (request: PromiseLike<{ status: number; body: unknown }>): Promise<void> => {
      const { status, body } = await request;
      expect([status, body]).toMatchObject(refused);
    };
    const team = api.as(teamKey);
    for (const source of [undefined, null, 'shop'])
      await expectRefused(team.post(CHANNELS).send({ name: 'Ops', url: RECEIVER, source }));
    for (const { id } of [none, theirs]) {
      for (const body of [{ name: 'x' }, { enabled: true }, { source: 'team/b' }])
        await expectRefused(team.patch(`${CHANNELS}/${id}`).send(body));
      await expectRefused(team.delete(`${CHANNELS}/${id}`));
    }
    for (const source of [null, 'shop'])
      await expectRefused(team.patch(`${CHANNELS}/${own.id}`).send({ source }));
    for (const channel of [none, theirs, own])
      expect((await team.get(`${CHANNELS}/${channel.id}`)).body).toEqual({ channel });
    expect((await team.patch(`${CHANNELS}/${own.id}`).send({ source: 'team/b' })).status).toBe(200);
    expect((await team.delete(`${CHANNELS}/${own.id}`)).status).toBe(204);
  });
});

describe('the channels of a set', () => {
  const entry = (externalId: string, fields: object = {}): object => ({
    externalId,
    name: externalId,
    url: RECEIVER,
    ...fields,
  });
  const put = (
    body: object,
    key?: string,
  ): PromiseLike<{ status: number; body: unknown; headers: Headers }> =>
    api
      .as(key)
      .put(MONITORS)
      .send({ source: 'set', monitors: [], ...body });
  type Headers = Readonly<Record<string, string>>;

  test('are applied, and a generated secret is returned once', async () => {
    const channels = [entry('set-a'), entry('set-b', { secret: SECRET })];
    const first = await put({ channels });
    expect(first.status).toBe(200);
    expect(first.headers['cache-control']).toBe('no-store, no-transform');
    const { channels: result } = first.body as MonitorSetResult;
    expect(result?.created).toEqual([
      { id: expect.any(String), externalId: 'set-a', secret: expect.stringMatching(/^whsec_/) },
      { id: expect.any(String), externalId: 'set-b', secret: null },
    ]);
    const actor = systemActor(api.account.id);
    const secrets = (result?.created ?? []).map(({ id }) =>
      revealChannelSecret(api.context, actor, id ?? ''),
    );
    expect(await Promise.all(secrets)).toEqual([result?.created[0]?.secret, SECRET]);
    const second = await put({ channels });
    expect(second.body).toMatchObject({ changed: false, channels: { created: [], unchanged: [{}, {}] } });
    expect(JSON.stringify(second.body)).not.toContain('whsec_');
  });

  test('are validated with the monitors, and nothing is written', async () => {
    const response = await put({
      monitors: [{ externalId: 'invalid', name: ' ', url: 'https://a.example' }],
      channels: [
        entry('a', { url: 'http://hooks.invalid', selector: { matchLabels: { '-': 'x' } } }),
        entry('b', { secret: 'whsec_short', events: [] }),
        entry('a', { monitorIds: [], monitorExternalIds: ['x', 'x'] }),
        'c',
      ],
    });
    expect(response.status).toBe(400);
    const { errors = [] } = response.body as Problem;
    expect(errors.map(({ path }) => path)).toEqual([
      'monitors.0.name',
      'channels.0.url',
      'channels.0.selector.matchLabels.-',
      'channels.1.events',
      'channels.1.secret',
      'channels.2.monitorExternalIds.1',
      'channels.2.monitorIds',
      'channels.2.externalId',
      'channels.3',
    ]);
    expect(JSON.stringify(errors)).not.toContain('whsec_short');
    const { body } = await api.as().get(CHANNELS);
    const keys = (body as { channels: Channel[] }).channels.map(({ externalId }) => externalId);
    expect(keys).not.toContain('b');
  });

  test.each([
    ['a list', { channels: 'all' }],
    ['at most 1000', { channels: Array.from({ length: 1_001 }, (_, index) => entry(`c-${index}`)) }],
  ])('must be %s', async (_, body) => {
    const response = await put(body);
    expect([response.status, response.body]).toMatchObject([400, { errors: [{ path: 'channels' }] }]);
  });

  test('have their new receivers checked, each once, and nothing is written if one is refused', async () => {
    const kept = 'https://kept.invalid/';
    expect((await put({ source: 'urls', channels: [entry('urls-kept', { url: kept })] })).status).toBe(200);
    checked.length = 0;
    const channels = [
      entry('urls-kept', { url: kept, name: 'x' }),
      entry('urls-a', { url: 'https://new.invalid/' }),
      entry('urls-b', { url: 'https://127.0.0.1/hook' }),
      entry('urls-c', { url: 'https://new.invalid/' }),
    ];
    const monitors = [{ externalId: 'urls-monitor', name: 'x', url: 'https://a.example' }];
    const response = await put({ source: 'urls', monitors, channels });
    expect(checked.toSorted()).toEqual(['https://127.0.0.1/hook', 'https://new.invalid/']);
    expect([response.status, response.body]).toMatchObject([
      400,
      { errors: [{ path: 'channels.2.url', message: expect.stringContaining('cannot be a receiver') }] },
    ]);
    const { rows } = await api.database.pool.query("select from monitors where external_id = 'urls-monitor'");
    expect(rows).toEqual([]);
  });

  test('need a key with the scope write, and the right source, except in a dry run', async () => {
    const { key } = await api.newKey('read');
    const channels = [entry('scope')];
    for (const given of [key, teamKey]) {
      expect((await put({ channels }, given)).status).toBe(403);
      const planned = await put({ channels, dryRun: true }, given);
      expect(planned.body).toMatchObject({ channels: { created: [{ id: null, secret: null }] } });
    }
    expect((await put({ source: 'team/a', channels }, teamKey)).status).toBe(200);
  });

  test('of a plan that has changed are not applied', async () => {
    const source = 'etag';
    const [{ body }] = [await put({ source, channels: [entry('etag')] })];
    const id = (body as MonitorSetResult).channels?.created[0]?.id ?? '';
    const channels = [entry('etag', { name: 'New' })];
    const { headers } = await put({ source, channels, dryRun: true });
    await api.as().patch(`${CHANNELS}/${id}`).send({ name: 'By hand' });
    const apply = (etag: string | undefined) =>
      api
        .as()
        .put(MONITORS)
        .set('If-Match', etag ?? '')
        .send({ source, monitors: [], channels });
    expect((await apply(headers['etag'])).status).toBe(412);
    const next = await put({ source, channels, dryRun: true });
    expect((await apply(next.headers['etag'])).status).toBe(200);
  });
});
