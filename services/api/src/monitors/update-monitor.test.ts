import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { createChannel } from '@tocsin/db/channels/write-channels';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { checkOf, FULL_MONITOR, MONITORS, newMonitor } from '../testing/monitors.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

const addStatusChanges = jest.fn((_ids: readonly string[]) => Promise.resolve());
let api: TestApi;
beforeAll(async () => {
  api = await openTestApi({
    producers: {
      addTrigger: () => Promise.reject(new Error('no queue')),
      addStatusChanges,
      addDeliveries: () => Promise.resolve(),
    },
  });
});
afterAll(() => api.close());

async function get(id: string): Promise<Monitor> {
  const response = await api.as().get(`${MONITORS}/${id}`);
  return (response.body as { monitor: Monitor }).monitor;
}

async function revisionOf(id: string): Promise<number> {
  const { rows } = await api.database.pool.query<{ revision: number }>(
    'select revision from monitors where id = $1',
    [id],
  );
  return rows[0]?.revision ?? 0;
}

describe('update', () => {
  test('changes the given fields only', async () => {
    const before = await newMonitor(api, { ...FULL_MONITOR, externalId: 'update' });
    const response = await api.as().put(`${MONITORS}/${before.id}`).send({ name: 'New', interval: 45 });
    expect(response.status).toBe(200);
    const { monitor } = response.body as { monitor: Monitor };
    expect(monitor).toEqual({ ...before, name: 'New', interval: 45, updatedAt: monitor.updatedAt });
    expect(Date.parse(monitor.updatedAt)).toBeGreaterThan(Date.parse(before.updatedAt));
    expect(await get(before.id)).toEqual(monitor);
  });

  test.each([
    ['headers', { 'X-New': '1' }],
    ['assertions', { statusCode: 204 }],
    ['regions', ['ap-south-1']],
    ['regions', []],
    ['headers', {}],
    ['assertions', {}],
  ])('replaces %s as a whole: %j', async (field, value) => {
    const { id } = await newMonitor(api, { ...FULL_MONITOR, externalId: null });
    await api
      .as()
      .put(`${MONITORS}/${id}`)
      .send({ [field]: value });
    expect((await get(id))[field as keyof Monitor]).toEqual(value);
  });

  test.each(['headers', 'body', 'assertions', 'runbookUrl', 'externalId', 'source'])(
    'with null clears %s',
    async (field) => {
      const before = await newMonitor(api, { ...FULL_MONITOR, externalId: `clears ${field}` });
      const response = await api
        .as()
        .put(`${MONITORS}/${before.id}`)
        .send({ [field]: null });
      expect(response.body).toEqual({
        monitor: { ...before, [field]: null, updatedAt: expect.any(String) },
      });
    },
  );

  test('without changes: 200, no revision, no new schedule', async () => {
    const before = await newMonitor(api, { ...FULL_MONITOR, externalId: 'same' });
    const touches = api.touched.length;
    const { id, status, statusSince, errorDetail, lastCheckedAt, createdAt, updatedAt, ...input } = before;
    for (const body of [{}, undefined, { name: ' Shop ' }, input]) {
      const request = api.as().put(`${MONITORS}/${id}`);
      const response = await (body === undefined ? request : request.send(body));
      expect([response.status, response.body]).toEqual([200, { monitor: before }]);
    }
    expect([status, statusSince, errorDetail, lastCheckedAt, createdAt, updatedAt]).not.toContain(undefined);
    expect(await revisionOf(id)).toBe(1);
    expect(api.touched).toHaveLength(touches);
  });

  test('to an existing externalId: 409, nothing changed', async () => {
    await newMonitor(api, { externalId: 'taken' });
    const before = await newMonitor(api);
    const response = await api.as().put(`${MONITORS}/${before.id}`).send({ name: 'x', externalId: 'taken' });
    expect(response.status).toBe(409);
    expect(await get(before.id)).toEqual(before);
  });

  test('applies the schedule in its regions', async () => {
    const { id } = await newMonitor(api, { regions: ['a', 'b'] });
    await api
      .as()
      .put(`${MONITORS}/${id}`)
      .send({ regions: ['b', 'c'] });
    expect(api.touched.at(-1)).toEqual({ monitorId: id, regions: ['b', 'c'] });
  });

  test('with a threshold that causes a status change hints at its alert', async () => {
    const { id } = await newMonitor(api, { failureThreshold: 3 });
    await createChannel(api.context, systemActor(api.account.id), {
      name: 'ops',
      url: 'https://hooks.example',
      monitorIds: [id],
    });
    await recordChecks(api.context.db, [checkOf(id)]);
    const failure = { status: 'DOWN', errorReason: 'HTTP_500', statusCode: 500 } as const;
    await recordChecks(api.context.db, [checkOf(id, failure)]);
    addStatusChanges.mockRejectedValueOnce(new Error('no store'));
    const response = await api.as().put(`${MONITORS}/${id}`).send({ failureThreshold: 1 });
    expect(response.body).toMatchObject({ monitor: { status: 'DOWN' } });
    const { rows } = await api.database.pool.query<{ id: string }>(
      'select id from status_changes where monitor_id = $1 and to_status = $2',
      [id, 'DOWN'],
    );
    expect(addStatusChanges.mock.calls).toEqual([[[rows[0]?.id]]]);
  });

  test('with a lower recovery threshold recovers a region that has passed often enough, and no other', async () => {
    const failure = { status: 'DOWN', errorReason: 'HTTP_500', statusCode: 500 } as const;
    const monitors = await Promise.all([1, 2].map(() => newMonitor(api, { recoveryThreshold: 5 })));
    const [passing = '', failing = ''] = monitors.map(({ id }) => id);
    const courses = { [passing]: [failure, {}, {}], [failing]: [failure, {}, failure] };
    for (const [id, course] of Object.entries(courses)) {
      for (const result of course) await recordChecks(api.context.db, [checkOf(id, result)]);
      expect(await get(id)).toMatchObject({ status: 'DOWN' });
    }
    const update = async (id: string): Promise<unknown> => {
      const { body } = await api.as().put(`${MONITORS}/${id}`).send({ recoveryThreshold: 2 });
      return (body as { monitor: { status: string } }).monitor.status;
    };
    expect([await update(passing), await update(failing)]).toEqual(['UP', 'DOWN']);
  });
});
