import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { Response } from 'supertest';
import { listMonitors, MONITORS, newMonitor } from '../testing/monitors.ts';
import { type TestApi, useTestApi } from '../testing/test-api.ts';

/** Monitors of the source `shop`, of another, and of none. */
let own: Monitor;
let foreign: Monitor;
let sourceless: Monitor;
/** The monitors whose triggers were queued. */
const queued: string[] = [];

const api: TestApi = await useTestApi({
  producers: {
    addTrigger: async (_region, { triggerId }) => {
      const { rows } = await api.database.pool.query<{ monitor_id: string }>(
        'select monitor_id from triggers where id = $1',
        [triggerId],
      );
      queued.push(rows[0]?.monitor_id ?? '');
      // The request then ends at once with 503.
      throw new Error('no checker');
    },
  },
});
/** The key may change the source `shop`, and sources that begin with `shop/`. */
const shop = api.as((await api.newKey('read,write', null, ['shop', 'shop/*'])).key);

beforeEach(async () => {
  await api.database.pool.query('delete from monitors');
  own = await newMonitor(api, { source: 'shop', externalId: 'own' });
  foreign = await newMonitor(api, { source: 'billing', externalId: 'foreign' });
  sourceless = await newMonitor(api, { externalId: 'sourceless' });
});

const newBody = (source?: string | null): object => ({ name: 'New', url: 'https://new.example', source });
const setOf = (source: string, fields: object = {}): object => ({
  source,
  monitors: [{ externalId: 'new', name: 'New', url: 'https://new.example' }],
  prune: true,
  ...fields,
});

const listAll = (): Promise<Monitor[]> => listMonitors(api.as());

/** Expects a 403 that names the source, and that nothing was written. */
async function expectRefused(response: Response, source: string | null = 'billing'): Promise<void> {
  const what = source === null ? 'resources without a source' : `resources of the source "${source}"`;
  expect(response.body).toMatchObject({
    type: 'urn:tocsin:problem:source-not-allowed',
    status: 403,
    detail: `This API key may not change ${what}. It may change resources of these sources: "shop", "shop/*".`,
  });
  expect(await listAll()).toEqual([sourceless, foreign, own]);
}

describe('a key that is bound to sources', () => {
  test('creates, changes and deletes monitors in its sources', async () => {
    const created = await shop.post(MONITORS).send(newBody('shop/api'));
    expect(created.status).toBe(201);
    const path = `${MONITORS}/${(created.body as { monitor: Monitor }).monitor.id}`;
    expect((await shop.put(path).send({ source: 'shop/moved' })).status).toBe(200);
    expect((await shop.delete(path)).status).toBe(204);
  });

  test('creates, changes, takes, moves and deletes no other monitor', async () => {
    for (const { id, source } of [foreign, sourceless]) {
      await expectRefused(await shop.post(MONITORS).send(newBody(source)), source);
      for (const body of [{}, { source: 'shop' }])
        await expectRefused(await shop.put(`${MONITORS}/${id}`).send(body), source);
      await expectRefused(await shop.delete(`${MONITORS}/${id}`), source);
      await expectRefused(await shop.put(`${MONITORS}/${own.id}`).send({ source }), source);
    }
  });

  test('applies only sets of its own sources, and can compare other sets in a dry run', async () => {
    await expectRefused(await shop.put(MONITORS).send(setOf('billing')));
    const planned = await shop.put(MONITORS).send(setOf('billing', { dryRun: true }));
    expect([planned.status, planned.body]).toMatchObject([200, { deleted: [{ id: foreign.id }] }]);
    const response = await shop.put(MONITORS).send(setOf('shop'));
    expect([response.status, response.body]).toMatchObject([200, { deleted: [{ id: own.id }] }]);
    expect((await listAll()).map(({ externalId }) => externalId)).toEqual(['new', 'sourceless', 'foreign']);
  });

  test('does not adopt a monitor from another source with a set', async () => {
    const monitors = [{ externalId: 'foreign', name: 'Mine', url: 'https://new.example' }];
    const response = await shop.put(MONITORS).send(setOf('shop', { monitors }));
    expect(response.status).toBe(409);
    expect(await listAll()).toEqual([sourceless, foreign, own]);
  });

  test('triggers checks of any monitor, but with another URL only of monitors in its sources', async () => {
    const trigger = (id: string, body: object): Promise<Response> =>
      shop.post(`${MONITORS}/${id}/trigger`).send(body);
    const url = 'https://preview.example';
    await expectRefused(await trigger(foreign.id, { url }));
    await expectRefused(await trigger(sourceless.id, { url }), null);
    expect((await trigger(own.id, { url })).status).toBe(503);
    expect((await trigger(foreign.id, {})).status).toBe(503);
    expect(queued).toEqual([own.id, foreign.id]);
  });
});

describe('the order of errors', () => {
  test('404 comes before 403, and says nothing about the source', async () => {
    const { id } = await newMonitor(api, { source: 'billing' }, api.other.key);
    const url = 'https://a.example';
    for (const request of [
      shop.put(`${MONITORS}/${id}`).send({ name: 'New' }),
      shop.delete(`${MONITORS}/${id}`),
      shop.post(`${MONITORS}/${id}/trigger`).send({ url }),
    ])
      expect((await request).status).toBe(404);
  });

  test('403 comes before 412 and 409', async () => {
    const stale = { 'If-Match': '"stale"' };
    await expectRefused(await shop.put(`${MONITORS}/${foreign.id}`).set(stale).send({ name: 'New' }));
    await expectRefused(await shop.delete(`${MONITORS}/${foreign.id}`).set(stale));
    await expectRefused(await shop.put(MONITORS).set(stale).send(setOf('billing')));
    await expectRefused(await shop.post(MONITORS).send({ ...newBody('billing'), externalId: 'own' }));
  });

  test('returns 403 before it replays another key’s request', async () => {
    const headers = { 'Idempotency-Key': crypto.randomUUID() };
    const first = await api.as().post(MONITORS).set(headers).send(newBody('billing'));
    expect(first.status).toBe(201);
    const replayed = await shop.post(MONITORS).set(headers).send(newBody('billing'));
    expect(replayed.body).toMatchObject({ type: 'urn:tocsin:problem:source-not-allowed' });
    expect(replayed.text).not.toContain((first.body as { monitor: Monitor }).monitor.id);
  });
});

test('a key with the scope read and sources reads only', async () => {
  const { key } = await api.newKey('read', null, ['shop']);
  expect((await api.as(key).get(MONITORS)).status).toBe(200);
  const response = await api.as(key).put(`${MONITORS}/${own.id}`).send({ name: 'New' });
  expect(response.body).toMatchObject({ status: 403, type: 'urn:tocsin:problem:forbidden' });
});
