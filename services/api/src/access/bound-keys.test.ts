import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { Response } from 'supertest';
import type TestAgent from 'supertest/lib/agent.js';
import { MONITORS, newMonitor } from '../testing/monitors.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

const UNKNOWN_ID = '0190b5f0-0000-7000-8000-000000000000';

let api: TestApi;
/** Its key may change the source `shop`, and those that begin with `shop/`. */
let shop: TestAgent;
/** Monitors of the source `shop`, of another, and of none. */
let own: Monitor;
let foreign: Monitor;
let sourceless: Monitor;
/** The monitors whose triggers were queued. */
const queued: string[] = [];

beforeAll(async () => {
  api = await openTestApi({
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
      addStatusChanges: () => Promise.resolve(),
      addDeliveries: () => Promise.resolve(),
    },
  });
  shop = api.as((await api.newKey('read,write', null, ['shop', 'shop/*'])).key);
});
afterAll(() => api.close());

beforeEach(async () => {
  await api.database.pool.query('delete from monitors');
  own = await newMonitor(api, { source: 'shop', externalId: 'own' });
  foreign = await newMonitor(api, { source: 'billing', externalId: 'foreign' });
  sourceless = await newMonitor(api, { externalId: 'sourceless' });
});

const newBody = (source: string | null): object => ({ name: 'New', url: 'https://new.example', source });
const setOf = (source: string, fields: object = {}): object => ({
  source,
  monitors: [{ externalId: 'new', name: 'New', url: 'https://new.example' }],
  prune: true,
  ...fields,
});

async function listAll(): Promise<Monitor[]> {
  return ((await api.as().get(MONITORS)).body as { monitors: Monitor[] }).monitors;
}

/** A refusal that says why, and that nothing was written. */
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
  test('reads every monitor', async () => {
    expect((await shop.get(MONITORS)).body).toEqual({ monitors: [sourceless, foreign, own] });
    expect((await shop.get(`${MONITORS}/${foreign.id}`)).body).toMatchObject({ monitor: foreign });
    expect((await shop.get(`${MONITORS}/${foreign.id}/events`)).status).toBe(200);
  });

  test.each(['shop', 'shop/', 'shop/api'])('creates, changes and deletes monitors of %s', async (source) => {
    const created = await shop.post(MONITORS).send(newBody(source));
    expect(created.status).toBe(201);
    const path = `${MONITORS}/${(created.body as { monitor: Monitor }).monitor.id}`;
    expect((await shop.put(path).send({ interval: 30 })).status).toBe(200);
    expect((await shop.put(path).send({ source: 'shop/moved' })).status).toBe(200);
    expect((await shop.delete(path)).status).toBe(204);
  });

  test.each(['billing', 'shop2', 'sho', 'Shop', null])('creates none of %s', async (source) => {
    await expectRefused(await shop.post(MONITORS).send(newBody(source)), source);
  });

  test('creates none without a source', async () => {
    await expectRefused(await shop.post(MONITORS).send({ name: 'New', url: 'https://new.example' }), null);
  });

  test('does not change or delete a monitor of another source, or of none', async () => {
    for (const { id, source } of [foreign, sourceless]) {
      await expectRefused(await shop.put(`${MONITORS}/${id}`).send({ name: 'New' }), source);
      await expectRefused(await shop.put(`${MONITORS}/${id}`).send({}), source);
      await expectRefused(await shop.put(`${MONITORS}/${id}`).send({ source: 'shop' }), source);
      await expectRefused(await shop.delete(`${MONITORS}/${id}`), source);
    }
  });

  test.each(['billing', null])('does not move a monitor to %s', async (source) => {
    await expectRefused(await shop.put(`${MONITORS}/${own.id}`).send({ source }), source);
  });

  test('applies sets of its sources only', async () => {
    await expectRefused(await shop.put(MONITORS).send(setOf('billing')));
    await expectRefused(await shop.put(MONITORS).send(setOf('new')), 'new');
    const response = await shop.put(MONITORS).send(setOf('shop'));
    expect([response.status, response.body]).toMatchObject([200, { deleted: [{ id: own.id }] }]);
    expect((await listAll()).map(({ externalId }) => externalId)).toEqual(['new', 'sourceless', 'foreign']);
  });

  test('compares a set of any source in a dry run', async () => {
    const response = await shop.put(MONITORS).send(setOf('billing', { dryRun: true }));
    expect([response.status, response.body]).toMatchObject([200, { deleted: [{ id: foreign.id }] }]);
    expect(await listAll()).toHaveLength(3);
  });

  test('does not adopt a monitor of another source with a set', async () => {
    const monitors = [{ externalId: 'foreign', name: 'Mine', url: 'https://new.example' }];
    const response = await shop.put(MONITORS).send(setOf('shop', { monitors }));
    expect(response.status).toBe(409);
    expect(await listAll()).toEqual([sourceless, foreign, own]);
  });

  test('triggers checks of any monitor, but with another URL only those of its sources', async () => {
    const trigger = (id: string, body: object): Promise<Response> =>
      shop.post(`${MONITORS}/${id}/trigger`).send(body);
    const url = 'https://preview.example';
    queued.length = 0;
    await expectRefused(await trigger(foreign.id, { url }));
    await expectRefused(await trigger(sourceless.id, { url }), null);
    expect((await trigger(own.id, { url })).status).toBe(503);
    expect((await trigger(foreign.id, {})).status).toBe(503);
    expect(queued).toEqual([own.id, foreign.id]);
  });
});

describe('the order of errors', () => {
  test('404 comes before 403, and says nothing about the source', async () => {
    const other = await newMonitor(api, { source: 'billing' }, api.other.key);
    for (const id of [other.id, UNKNOWN_ID]) {
      expect((await shop.put(`${MONITORS}/${id}`).send({ name: 'New' })).status).toBe(404);
      expect((await shop.delete(`${MONITORS}/${id}`)).status).toBe(404);
      expect((await shop.post(`${MONITORS}/${id}/trigger`).send({ url: 'https://a.example' })).status).toBe(
        404,
      );
    }
  });

  test('403 comes before 412 and 409', async () => {
    const stale = { 'If-Match': '"stale"' };
    await expectRefused(await shop.put(`${MONITORS}/${foreign.id}`).set(stale).send({ name: 'New' }));
    await expectRefused(await shop.delete(`${MONITORS}/${foreign.id}`).set(stale));
    await expectRefused(await shop.put(MONITORS).set(stale).send(setOf('billing')));
    const taken = { ...newBody('billing'), externalId: 'own' };
    await expectRefused(await shop.post(MONITORS).send(taken));
  });

  test('403 comes before the replay of another key’s request', async () => {
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
