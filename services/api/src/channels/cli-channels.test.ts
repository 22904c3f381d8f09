import { describe, expect, test } from '@jest/globals';
import { type Channel, channelSchema } from '@tocsin/contracts/channels/channel';
import type { MonitorSetResult } from '@tocsin/contracts/monitor-sets/monitor-set';
import type { Problem } from '@tocsin/contracts/errors';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { revealChannelSecret } from '@tocsin/db/channels/channel-secrets';
import { RECEIVER } from '../testing/channels.ts';
import { MONITORS } from '../testing/monitors.ts';
import { newSignedInUser } from '../testing/sign-in.ts';
import { useTestApi } from '../testing/test-api.ts';

const CHANNELS = '/api/cli/channels';
const SECRET = `whsec_${Buffer.alloc(24, 1).toString('base64')}`;

/** URLs whose receivers were checked. */
const checked: string[] = [];
const api = await useTestApi();
const { egress } = api.context;
const { checkUrl } = egress;
Object.assign(egress, {
  checkUrl: (url: string, account: string) => {
    checked.push(url);
    return checkUrl(url, account);
  },
});
const teamKey = (await api.newKey('read,write', null, ['team/*'])).key;

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
  test('creates and changes a channel with the fields for programs, and never shows its secret again', async () => {
    const fields = { selector: { matchLabels: { app: 'shop' } }, externalId: 'ops', source: 'shop' };
    const created = await api
      .as()
      .post(CHANNELS)
      .send({ name: 'Ops', url: RECEIVER, secret: SECRET, ...fields });
    const { channel, secret } = created.body as Created;
    const path = `${CHANNELS}/${channel.id}`;
    expect(created.headers).toMatchObject({ location: path, 'cache-control': 'no-store, no-transform' });
    expect(channelSchema.parse(channel)).toMatchObject({ ...fields, monitorIds: [], enabled: true });
    expect(secret).toBe(SECRET);
    const actor = systemActor(api.account.id);
    expect(await revealChannelSecret(api.context, actor, channel.id)).toBe(SECRET);
    expect((await api.as().get(path)).text).not.toContain('whsec_');
    const none = { selector: null, externalId: null, source: null };
    expect((await api.as().patch(path).send(none)).body).toMatchObject({ channel: none });
  });

  test('refuses an invalid secret without repeating it', async () => {
    const response = await api
      .as()
      .post(CHANNELS)
      .send({ name: 'Ops', url: RECEIVER, secret: 'whsec_short' });
    expect([response.status, response.body]).toMatchObject([400, { errors: [{ path: 'secret' }] }]);
    expect(response.text).not.toContain('whsec_short');
  });

  test('an externalId that another channel has is a conflict that names the channel', async () => {
    const { channel } = await create({ externalId: 'taken' });
    const { channel: other } = await create({});
    for (const request of [
      api.as().post(CHANNELS).send({ name: 'Ops', url: RECEIVER, externalId: 'taken' }),
      api.as().patch(`${CHANNELS}/${other.id}`).send({ externalId: 'taken' }),
    ]) {
      const { body } = await request;
      const conflict = { status: 409, errors: [{ path: 'externalId' }], conflictingId: channel.id };
      expect(body).toMatchObject(conflict);
    }
    // The externalIds of the channel itself, another account's channel and a deleted channel do not conflict.
    const path = `${CHANNELS}/${channel.id}`;
    expect((await api.as().patch(path).send({ externalId: 'taken' })).status).toBe(200);
    await create({ externalId: 'taken' }, api.other.key);
    expect((await api.as().delete(path)).status).toBe(204);
    await create({ externalId: 'taken' });
  });

  test('a key that is bound to sources changes only channels of these sources', async () => {
    const { channel: theirs } = await create({ source: 'shop' });
    const { channel: own } = await create({ source: 'team/a' }, teamKey);
    const team = api.as(teamKey);
    for (const request of [
      team.post(CHANNELS).send({ name: 'Ops', url: RECEIVER }),
      team.post(CHANNELS).send({ name: 'Ops', url: RECEIVER, source: 'shop' }),
      team.patch(`${CHANNELS}/${theirs.id}`).send({ enabled: true }),
      team.patch(`${CHANNELS}/${theirs.id}`).send({ source: 'team/b' }),
      team.delete(`${CHANNELS}/${theirs.id}`),
      team.patch(`${CHANNELS}/${own.id}`).send({ source: null }),
    ]) {
      const { body } = await request;
      expect(body).toMatchObject({ status: 403, type: 'urn:tocsin:problem:source-not-allowed' });
    }
    for (const channel of [theirs, own])
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
  const put = (body: object, key?: string) =>
    api
      .as(key)
      .put(MONITORS)
      .send({ source: 'set', monitors: [], ...body });

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

  test('keep the secret of an existing channel, unless the key has the rights of an owner', async () => {
    const { id: userId, agent: member } = await newSignedInUser(api, { role: 'member' });
    const made = await member.post('/api/dashboard/api-keys').send({ name: 'CI', scopes: 'read,write' });
    const { key } = made.body as { key: string };
    const { channel, secret } = await create({});
    // A member may take the channel into a source.
    const adopted = api
      .as(key)
      .patch(`${CHANNELS}/${channel.id}`)
      .send({ source: 'set', externalId: 'mine' });
    expect((await adopted).status).toBe(200);
    const set = { channels: [entry('mine', { name: 'Renamed', secret: SECRET })] };
    const refused = await put(set, key);
    expect(refused.body).toMatchObject({ status: 403, type: 'urn:tocsin:problem:owner-required' });
    const actor = systemActor(api.account.id);
    expect(await revealChannelSecret(api.context, actor, channel.id)).toBe(secret);
    expect((await api.as(key).get(`${CHANNELS}/${channel.id}`)).body).toMatchObject({
      channel: { name: 'Ops' },
    });
    // A new channel of its own may have any secret.
    expect((await put({ channels: [entry('new', { secret: SECRET })] }, key)).status).toBe(200);
    await api.database.pool.query(`update memberships set role = 'owner' where user_id = $1`, [userId]);
    expect((await put(set, key)).status).toBe(200);
    expect(await revealChannelSecret(api.context, actor, channel.id)).toBe(SECRET);
  });

  test('are validated with the monitors, and nothing is written', async () => {
    const response = await put({
      monitors: [{ externalId: 'invalid', name: ' ', url: 'https://a.example' }],
      channels: [
        entry('a', { url: 'http://hooks.invalid' }),
        entry('b', { secret: 'whsec_short' }),
        entry('b'),
      ],
    });
    expect(response.status).toBe(400);
    const { errors = [] } = response.body as Problem;
    expect(errors.map(({ path }) => path)).toEqual([
      'monitors.0.name',
      'channels.0.url',
      'channels.1.secret',
      'channels.2.externalId',
    ]);
    expect(JSON.stringify(errors)).not.toContain('whsec_short');
    const { body } = await api.as().get(CHANNELS);
    const keys = (body as { channels: Channel[] }).channels.map(({ externalId }) => externalId);
    expect(keys).not.toContain('b');
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
    const channels = [entry('scope')];
    for (const given of [api.account.readKey, teamKey]) {
      expect((await put({ channels }, given)).status).toBe(403);
      const planned = await put({ channels, dryRun: true }, given);
      expect(planned.body).toMatchObject({ channels: { created: [{ id: null, secret: null }] } });
    }
    expect((await put({ source: 'team/a', channels }, teamKey)).status).toBe(200);
  });
});

describe('the format of a channel', () => {
  test('shows header values and the routing key to keys that may write, and nobody else', async () => {
    const secrets = { headers: { Authorization: 'Bearer t0ken' }, routingKey: 'R0UT1NG' };
    const { channel } = await create({ format: 'pagerduty', remindAfter: 300, ...secrets });
    expect(channel).toMatchObject({ format: 'pagerduty', remindAfter: 300, ...secrets });
    const reader = (await api.newKey('read')).key;
    const path = `${CHANNELS}/${channel.id}`;
    const hidden = { headers: { Authorization: '(secret)' }, routingKey: '(secret)' };
    expect((await api.as(reader).get(path)).body).toMatchObject({ channel: hidden });
    for (const url of [path, CHANNELS]) {
      expect(JSON.stringify((await api.as(reader).get(url)).body)).not.toMatch(/t0ken|R0UT1NG/);
      expect(JSON.stringify((await api.as().get(url)).body)).toContain('R0UT1NG');
    }
    const response = await api.as().put(path).send(hidden);
    expect((response.body as Problem).errors?.map(({ path }) => path)).toEqual([
      'headers.Authorization',
      'routingKey',
    ]);
  });

  test.each([
    [{ format: 'custom' }, 'template', 'is required by the format custom'],
    [{ format: 'pagerduty' }, 'routingKey', 'is required by the format pagerduty'],
    [{ format: 'custom', template: '{"a":\n  {{ status | nope }}}' }, 'template', 'line 2, column 3'],
    [{ format: 'custom', template: '{{ monitorName }}' }, 'template', 'the result is not JSON'],
    [{ remindAfter: 299 }, 'remindAfter', '300'],
    [{ remindAfter: 86_401 }, 'remindAfter', '86400'],
    ...['Host', 'content-length', 'Transfer-Encoding', 'Connection', 'Webhook-Signature', 'webhook-id'].map(
      (name): [object, string, string] => [{ headers: { [name]: 'x' } }, `headers.${name}`, 'is set by'],
    ),
  ])('%j is refused', async (fields, path, message) => {
    const response = await api
      .as()
      .post(CHANNELS)
      .send({ name: 'Ops', url: RECEIVER, ...fields });
    expect(response.status).toBe(400);
    expect((response.body as Problem).errors).toContainEqual(
      expect.objectContaining({ path, message: expect.stringContaining(message) }),
    );
  });
});
