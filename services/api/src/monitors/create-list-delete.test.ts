import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Monitor, monitorSchema } from '@tocsin/contracts/monitors/monitor';
import { createApiKey } from '@tocsin/db/api-keys/api-keys';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { purgeDeletedMonitors } from '@tocsin/db/deleted-monitors/purge';
import { accounts } from '@tocsin/db/users/table';
import { checkOf, FULL_MONITOR, MONITORS, newMonitor } from '../testing/monitors.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

async function get(id: string, key: string = api.account.key): Promise<Monitor> {
  const response = await api.as(key).get(`${MONITORS}/${id}`);
  return (response.body as { monitor: Monitor }).monitor;
}

describe('create', () => {
  test('with name and url only: 201, the defaults, PENDING, Location', async () => {
    const response = await api.as().post(MONITORS).send({ name: '  Shop ', url: 'HTTPS://shop.example' });
    expect(response.status).toBe(201);
    const { monitor } = response.body as { monitor: Monitor };
    expect(Object.keys(response.body as object)).toEqual(['monitor']);
    expect(monitor).toEqual({
      id: expect.any(String),
      name: 'Shop',
      url: 'HTTPS://shop.example',
      type: 'HTTP',
      interval: 60,
      timeout: 10,
      method: 'GET',
      headers: null,
      labels: {},
      body: null,
      assertions: null,
      failureThreshold: 1,
      retryInterval: null,
      recoveryThreshold: 1,
      regions: [],
      runbookUrl: null,
      externalId: null,
      source: null,
      status: 'PENDING',
      statusSince: expect.any(String),
      errorDetail: null,
      lastCheckedAt: null,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    expect(monitorSchema.parse(monitor)).toEqual(monitor);
    expect(response.headers['location']).toBe(`${MONITORS}/${monitor.id}`);
    const found = await api.as().get(response.headers['location'] ?? '');
    expect(found.body).toEqual({ monitor, events: [] });
  });

  test('a read returns what was written, with secrets in plain text for a key with the scope write', async () => {
    const monitor = await newMonitor(api, FULL_MONITOR);
    expect(monitor).toMatchObject(FULL_MONITOR);
    expect(await get(monitor.id)).toEqual(monitor);
    const { rows } = await api.database.pool.query('select * from monitors where id = $1', [monitor.id]);
    expect(JSON.stringify(rows)).not.toMatch(/secret-token|päng/);
  });

  test('treats null as absent for fields that it clears', async () => {
    const nulls = {
      retryInterval: null,
      headers: null,
      body: null,
      assertions: null,
      runbookUrl: null,
      externalId: null,
      source: null,
    };
    expect(await newMonitor(api, nulls)).toMatchObject(nulls);
  });

  test('accepts the minimum and the maximum', async () => {
    const edge = {
      interval: 5,
      timeout: 60,
      failureThreshold: 100,
      retryInterval: 5,
      recoveryThreshold: 100,
      name: 'a'.repeat(255),
    };
    expect(await newMonitor(api, edge)).toMatchObject(edge);
    const other = {
      interval: 86_400,
      timeout: 1,
      failureThreshold: 1,
      retryInterval: 3_600,
      recoveryThreshold: 1,
      body: 'a'.repeat(65_536),
    };
    expect(await newMonitor(api, other)).toMatchObject(other);
  });

  test('an existing externalId of the account: 409; another account may have it', async () => {
    const body = { externalId: 'unique' };
    const { id } = await newMonitor(api, body);
    const response = await api
      .as()
      .post(MONITORS)
      .send({ name: 'a', url: 'http://a.example', ...body });
    expect(response.status).toBe(409);
    expect(response.body).toMatchObject({
      type: 'urn:tocsin:problem:conflict',
      errors: [{ path: 'externalId' }],
      conflictingId: id,
    });
    await newMonitor(api, body, api.other.key);
  });

  test('creates one of several monitors with the same externalId at the same time', async () => {
    const requests = Array.from({ length: 8 }, () =>
      api.as().post(MONITORS).send({ name: 'a', url: 'http://a.example', externalId: 'race' }),
    );
    const statuses = (await Promise.all(requests)).map(({ status }) => status);
    expect(statuses.toSorted((one, other) => one - other)).toEqual([201, 409, 409, 409, 409, 409, 409, 409]);
  });

  test('applies the schedule in each of its regions, or in the default region', async () => {
    const named = await newMonitor(api, { regions: ['a', 'b'] });
    const unnamed = await newMonitor(api);
    expect(api.touched).toContainEqual({ monitorId: named.id, regions: ['a', 'b'] });
    expect(api.touched).toContainEqual({ monitorId: unnamed.id, regions: ['default'] });
  });
});

/** @returns a key of a new account */
async function newAccountKey(): Promise<string> {
  const accountId = randomUUID();
  await api.context.db.insert(accounts).values({ id: accountId, name: 'Test' });
  return (await createApiKey(api.context.db, systemActor(accountId), { name: 'both' })).key;
}

describe('list', () => {
  test('returns every monitor of the account only, newest first', async () => {
    const [key, otherKey] = [await newAccountKey(), await newAccountKey()];
    expect((await api.as(key).get(MONITORS)).body).toEqual({ monitors: [] });
    const made: Monitor[] = [];
    for (let index = 0; index < 5; index += 1) made.push(await newMonitor(api, { name: `m${index}` }, key));
    await newMonitor(api, {}, otherKey);
    await api.database.pool.query('update monitors set created_at = $1 where name in ($2, $3)', [
      made[0]?.createdAt,
      'm1',
      'm2',
    ]);
    const { monitors } = (await api.as(key).get(MONITORS)).body as { monitors: Monitor[] };
    expect(monitors.map(({ name }) => name)).toEqual(['m4', 'm3', 'm2', 'm1', 'm0']);
    expect((await api.as(otherKey).get(MONITORS)).body).toMatchObject({ monitors: [{ name: 'Shop' }] });
  });
});

describe('delete', () => {
  test('returns 204 without a body, and removes the monitor with its events and incidents', async () => {
    const { id } = await newMonitor(api, { regions: ['a', 'b'] });
    const failure = { status: 'DOWN', errorReason: 'TIMEOUT', statusCode: null } as const;
    await recordChecks(api.context.db, [checkOf(id, { ...failure, region: 'a' })]);
    await recordChecks(api.context.db, [checkOf(id, { ...failure, region: 'b' })]);
    const left = async (): Promise<number[]> =>
      Promise.all(
        ['monitors where id', 'events where monitor_id', 'incidents where monitor_id'].map(async (what) => {
          const { rows } = await api.database.pool.query<{ n: number }>(
            `select count(*)::int as n from ${what} = $1`,
            [id],
          );
          return rows[0]?.n ?? -1;
        }),
      );
    expect(await left()).toEqual([1, 2, 1]);
    const response = await api.as().delete(`${MONITORS}/${id}`);
    expect([response.status, response.text]).toEqual([204, '']);
    for (const [method, suffix] of [
      ['delete', ''],
      ['get', ''],
      ['put', ''],
      ['get', '/events'],
      ['post', '/trigger'],
    ] as const) {
      expect((await api.as()[method](`${MONITORS}/${id}${suffix}`)).status).toBe(404);
    }
    await purgeDeletedMonitors(api.context.db);
    expect(await left()).toEqual([0, 0, 0]);
  });
});

describe("another account's monitor", () => {
  test.each([
    ['get', ''],
    ['put', ''],
    ['delete', ''],
    ['post', '/trigger'],
    ['get', '/events'],
  ] as const)('%s …%s: 404, exactly as for an unknown one', async (method, suffix) => {
    const { id } = await newMonitor(api, {}, api.other.key);
    const responses = await Promise.all(
      [id, '0190b5f0-0000-7000-8000-000000000000'].map((each) =>
        api.as()[method](`${MONITORS}/${each}${suffix}`).set('X-Request-Id', 'same'),
      ),
    );
    expect(responses.map(({ status }) => status)).toEqual([404, 404]);
    expect(responses[0]?.text).toBe(responses[1]?.text);
    expect((await api.as(api.other.key).get(`${MONITORS}/${id}`)).status).toBe(200);
  });
});

describe('the setting REGIONS', () => {
  test('allows its codes only; the error contains the field and the codes', async () => {
    const strict = await openTestApi({
      settings: { regions: ['eu-west-1', 'us-east-1'], defaultRegion: 'eu-west-1' },
    });
    try {
      const { id } = await newMonitor(strict, { regions: ['us-east-1'] });
      const errors = [{ path: 'regions.1', message: 'must be one of eu-west-1, us-east-1' }];
      const body = { regions: ['eu-west-1', 'mars'] };
      for (const request of [
        strict
          .as()
          .post(MONITORS)
          .send({ name: 'a', url: 'http://a.example', ...body }),
        strict.as().put(`${MONITORS}/${id}`).send(body),
      ]) {
        const response = await request;
        expect([response.status, (response.body as { errors: unknown }).errors]).toEqual([400, errors]);
      }
      await newMonitor(strict);
      expect(strict.touched.at(-1)?.regions).toEqual(['eu-west-1']);
    } finally {
      await strict.close();
    }
  });
});
