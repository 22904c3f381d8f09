import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import type { Response } from 'supertest';
import { signIn } from '../testing/sign-in.ts';
import { useTestApi } from '../testing/test-api.ts';

const api = await useTestApi();
const member = await signIn(api, { role: 'member' });
const at = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toISOString();

/** Each resource has the same rules, for API keys and for signed-in users. */
const RESOURCES = [
  ['monitor', 'monitors', { name: 'Shop', url: 'https://shop.example' }],
  ['channel', 'channels', { name: 'Ops', url: 'https://hooks.invalid/ops' }],
  [
    'maintenanceWindow',
    'maintenance-windows',
    { name: 'Upgrade', startsAt: at(1), endsAt: at(2), allMonitors: true },
  ],
] as const;
const CALLERS = [
  ['a key', '/api/cli', api.as()],
  ['a user', '/api/dashboard', member],
] as const;

interface Found {
  readonly id: string;
  readonly name: string;
  readonly etag?: string;
}

describe.each(RESOURCES)('%s', (kind, segment, fields) => {
  const found = ({ body }: Response): Found => (body as Record<string, Found>)[kind] as Found;

  describe.each(CALLERS)('by %s', (_who, root, agent) => {
    const path = `${root}/${segment}`;
    const create = async (more: object = {}, key: string = randomUUID()): Promise<Response> =>
      agent
        .post(path)
        .set('Idempotency-Key', key)
        .send({ ...fields, ...more });
    const list = async (query = ''): Promise<Found[]> =>
      Object.values((await agent.get(path + query)).body as Record<string, Found[]>)[0] ?? [];

    test('a creation can be repeated until the resource is deleted', async () => {
      const key = randomUUID();
      const first = await create({}, key);
      const second = await create({}, key);
      expect([second.status, second.get('idempotency-replayed')]).toEqual([201, 'true']);
      // Includes the secret of a channel.
      expect(second.body).toEqual(first.body);
      for (const header of ['etag', 'location']) expect(second.get(header)).toBe(first.get(header));
      expect((await create({ name: 'Other' }, key)).status).toBe(422);
      await agent.delete(`${path}/${found(first).id}`).expect(204);
      const third = await create({}, key);
      expect([third.status, third.get('idempotency-replayed')]).toEqual([201, undefined]);
    });

    test('a stale ETag changes and deletes nothing', async () => {
      const created = await create();
      const one = `${path}/${found(created).id}`;
      const etag = created.get('etag') ?? '';
      const read = await agent.get(one);
      expect(read.get('etag')).toBe(etag);
      expect((await list()).find(({ id }) => id === found(created).id)?.etag).toBe(etag);
      expect((await agent.get(one).set('If-None-Match', etag)).status).toBe(304);
      expect((await agent.put(one).send({ name: fields.name })).get('etag')).toBe(etag);
      const updated = await agent.patch(one).set('If-Match', etag).send({ name: 'Mine' });
      expect([updated.status, updated.get('etag') === etag]).toEqual([200, false]);
      for (const request of [
        agent.put(one).send({ name: 'Lost' }),
        agent.patch(one).send({ name: 'Lost' }),
        agent.delete(one),
      ])
        expect((await request.set('If-Match', etag)).status).toBe(412);
      expect((await agent.get(one).set('If-None-Match', etag)).status).toBe(200);
      expect(found(await agent.get(one)).name).toBe('Mine');
      expect((await agent.delete(one).set('If-Match', updated.get('etag') ?? '')).status).toBe(204);
    });

    test('it is found by externalId and listed by source, and both are stored as written', async () => {
      const keys = {
        externalId: `${randomUUID()}/ö %2F`,
        source: `team ${randomUUID()}`,
        name: ' as written ',
      };
      const created = await create(keys);
      expect(found(created)).toMatchObject(keys);
      const byKey = `${path}/by-external-id/${encodeURIComponent(keys.externalId)}`;
      const read = await agent.get(byKey);
      expect([read.status, found(read).id, read.get('etag')]).toEqual([
        200,
        found(created).id,
        created.get('etag'),
      ]);
      const unchanged = await agent.get(byKey).set('If-None-Match', read.get('etag') ?? '');
      expect(unchanged.status).toBe(304);
      expect(await list(`?source=${encodeURIComponent(keys.source)}`)).toMatchObject([keys]);
      expect(await list('?source=nobody')).toEqual([]);
      expect((await agent.get(`${path}?source=%00`)).status).toBe(400);
      expect((await create({ externalId: keys.externalId })).body).toMatchObject({
        status: 409,
        conflictingId: found(created).id,
        errors: [{ path: 'externalId', pointer: '/externalId', code: 'conflict' }],
      });
      for (const externalId of ['..', ' a'])
        expect((await create({ externalId })).body).toMatchObject({
          status: 400,
          errors: [{ path: 'externalId' }],
        });
    });

    test('an unknown parameter is refused', async () => {
      const one = `${path}/${found(await create()).id}`;
      for (const request of [
        agent.get(path),
        agent.get(one),
        agent.delete(one),
        agent.post(path).send(fields),
      ]) {
        const response = await request.query({ sourc: 'a' });
        expect(response.body).toMatchObject({ status: 400, errors: [{ path: 'sourc', code: 'unknown' }] });
      }
    });
  });

  test('a key for another source cannot change it', async () => {
    const created = await api
      .as()
      .post(`/api/cli/${segment}`)
      .send({ ...fields, source: 'theirs' });
    const bound = api.as((await api.newKey('read,write', null, ['ours'])).key);
    const one = `/api/cli/${segment}/${found(created).id}`;
    const requests = [
      bound.put(one).send({ name: 'Mine' }),
      bound.delete(one),
      bound.post(`/api/cli/${segment}`).send({ ...fields, source: 'theirs' }),
    ];
    for (const request of requests)
      expect((await request).body).toMatchObject({ type: 'urn:tocsin:problem:source-not-allowed' });
  });
});

test('a list of monitors is filtered by labels', async () => {
  const names = async (labels: string): Promise<string[]> => {
    const { body } = await api.as().get('/api/cli/monitors').query({ labels, source: 'labels' });
    return (body as { monitors: Found[] }).monitors.map(({ name }) => name).toSorted();
  };
  for (const [name, labels] of [
    ['a', { app: 'shop', tier: 'web' }],
    ['b', { app: 'shop' }],
    ['c', {}],
  ] as const)
    await api
      .as()
      .post('/api/cli/monitors')
      .send({ ...RESOURCES[0][2], name, labels, source: 'labels' })
      .expect(201);
  expect(await names('app=shop')).toEqual(['a', 'b']);
  expect(await names('app=shop,!tier')).toEqual(['b']);
  expect(await names('app!=shop')).toEqual(['c']);
  expect(await names('app notin (shop,blog),app')).toEqual([]);
  expect(await names('tier in (api,web)')).toEqual(['a']);
  expect(await names('tier')).toEqual(['a']);
  const invalid = await api.as().get('/api/cli/monitors').query({ labels: 'app===' });
  expect(invalid.body).toMatchObject({ status: 400, errors: [{ path: 'labels' }] });
});

describe('the secret of a channel', () => {
  const create = (key: string): Promise<Response> =>
    api
      .as()
      .post('/api/cli/channels')
      .set('Idempotency-Key', key)
      .send(RESOURCES[1][2])
      .then((response) => response);

  test('is repeated after a rotation, and no longer when it does not sign', async () => {
    const first = await create('rotated');
    const { channel, secret } = first.body as { channel: Found; secret: string };
    const rotate = `/api/cli/channels/${channel.id}/rotate-secret`;
    const rotated = await api
      .as()
      .post(rotate)
      .set('If-Match', first.get('etag') ?? '')
      .send({});
    expect([rotated.status, rotated.get('etag') === first.get('etag')]).toEqual([200, false]);
    expect(
      (
        await api
          .as()
          .post(rotate)
          .set('If-Match', first.get('etag') ?? '')
          .send({})
      ).status,
    ).toBe(412);
    expect((await create('rotated')).body).toMatchObject({ secret });
    await api.as().post(rotate).send({}).expect(200);
    expect((await create('rotated')).status).toBe(409);
  });

  test('is repeated only to its creator, and written to the audit log', async () => {
    const first = await create('revealed');
    const { channel } = first.body as { channel: Found };
    await create('revealed');
    const other = api.as((await api.newKey('read,write')).key);
    const foreign = await other
      .post('/api/cli/channels')
      .set('Idempotency-Key', 'revealed')
      .send(RESOURCES[1][2]);
    expect(foreign.status).toBe(422);
    const { rowCount } = await api.database.pool.query(
      "select from audit_log where action = 'channel.secretRevealed' and target ->> 'id' = $1",
      [channel.id],
    );
    expect(rowCount).toBe(1);
  });

  test('is repeated after its monitors are deleted', async () => {
    const { body } = await api.as().post('/api/cli/monitors').send(RESOURCES[0][2]);
    const { id } = (body as { monitor: Found }).monitor;
    const send = () =>
      api
        .as()
        .post('/api/cli/channels')
        .set('Idempotency-Key', 'lost')
        .send({ ...RESOURCES[1][2], monitorIds: [id] });
    const first = await send();
    await api.as().delete(`/api/cli/monitors/${id}`).expect(204);
    expect((await send()).body).toEqual(first.body);
  });

  test('and the URL are not stored with the request', async () => {
    const { secret } = (await create('stored')).body as { secret: string };
    const { rows } = await api.database.pool.query<{ row: string }>(
      "select row_to_json(k)::text as row from idempotency_keys k where key = 'stored'",
    );
    expect(rows[0]?.row).not.toContain(secret);
    expect(rows[0]?.row).not.toContain('hooks.invalid');
  });
});

test('every response has the version of the server', async () => {
  for (const path of ['/api/cli/monitors', '/healthz', '/api/nothing', '/'])
    expect((await api.as().get(path)).get('tocsin-version')).toMatch(/^\d+\.\d+\.\d+/);
});
