import { randomUUID } from 'node:crypto';
import { describe, expect, jest, test } from '@jest/globals';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { checkOf } from '@tocsin/db/testing/check-record';
import { FULL_MONITOR, MONITORS, newMonitor } from '../testing/monitors.ts';
import { newChannel } from '../testing/channels.ts';
import { signIn } from '../testing/sign-in.ts';
import { openTestApi, type TestApi, useTestApi } from '../testing/test-api.ts';

const FAILURE = { status: 'DOWN', errorReason: 'HTTP_500', statusCode: 500 } as const;

const addStatusChanges = jest.fn((_ids: readonly string[]) => Promise.resolve());
const api = await useTestApi({ producers: { addStatusChanges } });

const create = (fields: object, of: TestApi = api) =>
  of
    .as()
    .post(MONITORS)
    .send({ name: 'a', url: 'http://a.example', ...fields });
const update = (id: string, body?: object) => api.as().put(`${MONITORS}/${id}`).send(body);

async function get(id: string, key: string = api.account.key): Promise<Monitor> {
  const response = await api.as(key).get(`${MONITORS}/${id}`);
  return (response.body as { monitor: Monitor }).monitor;
}

async function record(id: string, ...results: (typeof FAILURE | object)[]): Promise<void> {
  for (const result of results) await recordChecks(api.context.db, [checkOf(id, result)]);
}

async function valueOf<Value>(sql: string, ...values: unknown[]): Promise<Value | undefined> {
  return (await api.database.pool.query<{ value: Value }>(sql, values)).rows[0]?.value;
}

describe('create', () => {
  test('with name and url only: 201, the defaults, PENDING, Location', async () => {
    const response = await create({ name: 'Shop', url: 'HTTPS://shop.example' });
    expect(response.status).toBe(201);
    const { monitor } = response.body as { monitor: Monitor };
    expect(monitor).toMatchObject({
      name: 'Shop',
      url: 'HTTPS://shop.example',
      interval: 60,
      regions: [],
      status: 'PENDING',
      errorDetail: null,
      lastCheckedAt: null,
    });
    expect(response.headers['location']).toBe(`${MONITORS}/${monitor.id}`);
    const found = await api.as().get(response.headers['location'] ?? '');
    expect(found.body).toEqual({ monitor, events: [] });
  });

  test('with all fields: a read returns what was written', async () => {
    const monitor = await newMonitor(api, FULL_MONITOR);
    expect(monitor).toMatchObject(FULL_MONITOR);
    expect(await get(monitor.id)).toEqual(monitor);
  });

  test('creates one of several monitors with the same externalId, which another account may use, too', async () => {
    const requests = Array.from({ length: 8 }, () => create({ externalId: 'unique' }));
    const responses = await Promise.all(requests);
    const created = responses.filter(({ status }) => status === 201);
    expect(created).toHaveLength(1);
    const { monitor } = (created[0]?.body ?? {}) as { monitor?: Monitor };
    for (const { status, body } of responses.filter(({ status }) => status !== 201))
      expect([status, body]).toMatchObject([
        409,
        { errors: [{ path: 'externalId' }], conflictingId: monitor?.id },
      ]);
    await newMonitor(api, { externalId: 'unique' }, api.other.key);
  });

  test('applies the schedule in each of its regions, or in the default region', async () => {
    const named = await newMonitor(api, { regions: ['a', 'b'] });
    const unnamed = await newMonitor(api);
    expect(api.enqueued).toContainEqual({ monitorId: named.id, regions: ['a', 'b'] });
    expect(api.enqueued).toContainEqual({ monitorId: unnamed.id, regions: ['default'] });
  });
});

describe('update', () => {
  test('changes the given fields only, and applies the schedule', async () => {
    const before = await newMonitor(api, { ...FULL_MONITOR, externalId: 'update' });
    const response = await update(before.id, { name: 'New', interval: 45, regions: ['b', 'c'] });
    expect(response.status).toBe(200);
    const { monitor } = response.body as { monitor: Monitor };
    const changed = { name: 'New', interval: 45, regions: ['b', 'c'], updatedAt: monitor.updatedAt };
    expect(monitor).toEqual({ ...before, ...changed });
    expect(Date.parse(monitor.updatedAt)).toBeGreaterThan(Date.parse(before.updatedAt));
    expect(await get(before.id)).toEqual(monitor);
    expect(api.enqueued.at(-1)).toEqual({ monitorId: before.id, regions: ['b', 'c'] });
  });

  test.each([
    { headers: { 'X-New': '1' }, assertions: { statusCode: 204 }, regions: [] },
    { headers: null, body: null, assertions: null, runbookUrl: null, externalId: null, source: null },
  ])('replaces objects and lists as a whole: %j', async (fields) => {
    const before = await newMonitor(api, { ...FULL_MONITOR, externalId: randomUUID() });
    const { body } = await update(before.id, fields);
    expect(body).toEqual({ monitor: { ...before, ...fields, updatedAt: expect.any(String) } });
    expect(body).toEqual({ monitor: await get(before.id) });
  });

  test('without changes: 200, no revision, no new schedule', async () => {
    const before = await newMonitor(api, { ...FULL_MONITOR, externalId: 'same' });
    const enqueued = api.enqueued.length;
    const { id } = before;
    for (const body of [{}, undefined, { ...FULL_MONITOR, name: 'Shop', externalId: 'same' }]) {
      const response = await update(id, body);
      expect([response.status, response.body]).toEqual([200, { monitor: before }]);
    }
    expect(await valueOf('select revision as value from monitors where id = $1', id)).toBe(1);
    expect(api.enqueued).toHaveLength(enqueued);
  });

  test('to an existing externalId: 409, nothing changed', async () => {
    const taken = await newMonitor(api, { externalId: 'taken' });
    const before = await newMonitor(api);
    const response = await update(before.id, { name: 'x', externalId: 'taken' });
    expect([response.status, response.body]).toMatchObject([409, { conflictingId: taken.id }]);
    expect(await get(before.id)).toEqual(before);
  });

  test('of a threshold that causes a status change hints at its alert', async () => {
    const { id } = await newMonitor(api, { failureThreshold: 3 });
    await newChannel(await signIn(api), { monitorIds: [id], allMonitors: false });
    await record(id, {}, FAILURE);
    addStatusChanges.mockRejectedValueOnce(new Error('no store'));
    const response = await update(id, { failureThreshold: 1 });
    expect(response.body).toMatchObject({ monitor: { status: 'DOWN' } });
    const sql = `select id as value from status_changes where monitor_id = $1 and to_status = 'DOWN'`;
    expect(addStatusChanges.mock.calls).toEqual([[[await valueOf(sql, id)]]]);
  });

  test('to a lower recovery threshold recovers a monitor that has passed often enough', async () => {
    const { id } = await newMonitor(api, { recoveryThreshold: 5 });
    await record(id, FAILURE, {}, {});
    expect((await get(id)).status).toBe('DOWN');
    expect((await update(id, { recoveryThreshold: 3 })).body).toMatchObject({ monitor: { status: 'DOWN' } });
    expect((await update(id, { recoveryThreshold: 2 })).body).toMatchObject({ monitor: { status: 'UP' } });
  });
});

describe('delete', () => {
  test('returns 204 without a body; then every request for the monitor returns 404', async () => {
    const { id } = await newMonitor(api);
    await record(id, FAILURE);
    const response = await api.as().delete(`${MONITORS}/${id}`);
    expect([response.status, response.text]).toEqual([204, '']);
    for (const [method, suffix] of [
      ['delete', ''],
      ['get', ''],
      ['put', ''],
      ['get', '/events'],
      ['post', '/trigger'],
    ] as const)
      expect((await api.as()[method](`${MONITORS}/${id}${suffix}`)).status).toBe(404);
  });
});

describe('get by externalId', () => {
  const getBy = (externalId: string) => api.as().get(`${MONITORS}/by-external-id/${externalId}`);

  test.each(['shop/front', 'a%2Fb', '?a=1#b', 'Größe 東京 😀', 'events', ':externalId'])(
    'finds %s',
    async (externalId) => {
      const monitor = await newMonitor(api, { externalId });
      const response = await getBy(encodeURIComponent(externalId));
      expect([response.status, response.body]).toEqual([200, { monitor }]);
      const { etag } = (await api.as().get(`${MONITORS}/${monitor.id}`)).headers;
      expect(response.headers['etag']).toBe(etag);
    },
  );

  test('distinguishes case, and finds neither ids nor monitors of other accounts', async () => {
    const { id } = await newMonitor(api, { externalId: 'Case' });
    await newMonitor(api, { externalId: 'theirs' }, api.other.key);
    for (const externalId of ['case', id, 'theirs', 'x'.repeat(1_000)]) {
      const { status, body } = await getBy(externalId);
      expect([status, body]).toMatchObject([404, { detail: 'There is no monitor with this externalId.' }]);
    }
  });

  test.each(['a%00b', '%FF', ''])('does not find the path …/%s', async (text) => {
    const { status, body } = await getBy(text);
    expect([status, body]).toMatchObject([404, { type: 'urn:tocsin:problem:not-found' }]);
  });
});

test('the setting REGIONS allows only its codes, and the error contains the field and the codes', async () => {
  const regions = ['eu-west-1', 'us-east-1'];
  const strict = await openTestApi({ settings: { regions, defaultRegion: 'eu-west-1' } });
  try {
    const { id } = await newMonitor(strict, { regions: ['us-east-1'] });
    const errors = [{ path: 'regions.1', message: 'must be one of eu-west-1, us-east-1' }];
    const body = { regions: ['eu-west-1', 'mars'] };
    for (const request of [create(body, strict), strict.as().put(`${MONITORS}/${id}`).send(body)]) {
      const response = await request;
      expect([response.status, response.body]).toMatchObject([400, { errors }]);
    }
    await newMonitor(strict);
    expect(strict.enqueued.at(-1)?.regions).toEqual(['eu-west-1']);
  } finally {
    await strict.close();
  }
});
