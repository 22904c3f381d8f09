import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { readClock } from '@tocsin/db/database/sql';
import { DatabaseClock } from '../housekeeping/database-clock.ts';
import { runMaintenanceTasks } from '../housekeeping/housekeeping.ts';
import { FULL_MONITOR, MONITORS, newMonitor, recordCheck } from '../testing/monitors.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

async function etagOf(id: string): Promise<string> {
  const response = await api.as().get(`${MONITORS}/${id}`);
  return response.get('etag') ?? '';
}

describe('ETag and If-Match', () => {
  test('an ETag changes with the fields, not with checks, and is in every response with a monitor', async () => {
    const created = await api.as().post(MONITORS).send({ name: 'a', url: 'https://a.example' });
    const { id } = (created.body as { monitor: Monitor }).monitor;
    const first = created.get('etag') ?? '';
    expect(first).toMatch(/^"[\w-]+"$/);
    await recordCheck(api, id);
    expect(await etagOf(id)).toBe(first);
    const same = await api.as().put(`${MONITORS}/${id}`).send({ name: 'a' });
    expect(same.get('etag')).toBe(first);
    const changed = await api.as().put(`${MONITORS}/${id}`).send({ name: 'b' });
    expect(changed.get('etag')).not.toBe(first);
    expect(await etagOf(id)).toBe(changed.get('etag'));
  });

  test('a write to an older version: 412, and nothing is written', async () => {
    const { id } = await newMonitor(api, { name: 'old' });
    const stale = await etagOf(id);
    await api.as().put(`${MONITORS}/${id}`).set('If-Match', stale).send({ name: 'new' }).expect(200);
    for (const ifMatch of [stale, `W/${stale}`, 'W/nonsense', 'nonsense', `${stale}, W/"other"`]) {
      const put = await api.as().put(`${MONITORS}/${id}`).set('If-Match', ifMatch).send({ name: 'lost' });
      expect([put.status, put.body]).toEqual([
        412,
        expect.objectContaining({ type: 'urn:tocsin:problem:precondition-failed' }),
      ]);
      expect((await api.as().delete(`${MONITORS}/${id}`).set('If-Match', ifMatch)).status).toBe(412);
    }
    const current = await etagOf(id);
    const { body } = await api.as().get(`${MONITORS}/${id}`);
    expect(body).toMatchObject({ monitor: { name: 'new' } });
    expect((await api.as().put(`${MONITORS}/${id}`).set('If-Match', '*').send({})).status).toBe(200);
    const deleted = await api.as().delete(`${MONITORS}/${id}`).set('If-Match', `"other" , ${current}`);
    expect(deleted.status).toBe(204);
    expect((await api.as().delete(`${MONITORS}/${id}`).set('If-Match', current)).status).toBe(404);
  });

  test('a version that a compressing proxy made weak is the same version', async () => {
    const { id } = await newMonitor(api, { name: 'weak' });
    const put = (ifMatch: string) => api.as().put(`${MONITORS}/${id}`).set('If-Match', ifMatch);
    const weak = `W/${await etagOf(id)}`;
    expect((await put(weak).send({ name: 'first' })).status).toBe(200);
    expect((await put(weak).send({ name: 'lost' })).status).toBe(412);
    expect((await put(`"other",W/${await etagOf(id)}`).send({ name: 'second' })).status).toBe(200);
    expect((await api.as().delete(`${MONITORS}/${id}`).set('If-Match', weak)).status).toBe(412);
    const { body } = await api.as().get(`${MONITORS}/${id}`);
    expect(body).toMatchObject({ monitor: { name: 'second' } });
  });

  test('If-None-Match never hides events: a monitor is always returned in full', async () => {
    const { id } = await newMonitor(api);
    const response = await api
      .as()
      .get(`${MONITORS}/${id}`)
      .set('If-None-Match', await etagOf(id));
    expect([response.status, response.body]).toEqual([200, expect.objectContaining({ events: [] })]);
  });
});

describe('Idempotency-Key', () => {
  const create = (key: string, fields: Record<string, unknown> = {}, caller?: string) =>
    api
      .as(caller)
      .post(MONITORS)
      .set('Idempotency-Key', key)
      .send({ ...FULL_MONITOR, externalId: null, ...fields });
  const countOf = async (name: string): Promise<number> => {
    const { rows } = await api.database.pool.query<{ count: number }>(
      'select count(*)::int as count from monitors where name = $1',
      [name],
    );
    return rows[0]?.count ?? 0;
  };

  test('the same request again: the same response, whatever happened to the monitor, and no second monitor', async () => {
    const first = await create('again', { name: 'again' });
    const { id } = (first.body as { monitor: Monitor }).monitor;
    await api.as().put(`${MONITORS}/${id}`).send({ name: 'renamed' });
    const second = await create('"again"', { name: ' again ' });
    expect([second.status, second.body]).toEqual([201, first.body]);
    for (const header of ['location', 'etag']) expect(second.get(header)).toBe(first.get(header));
    expect([first, second].map((response) => response.get('idempotency-replayed'))).toEqual([
      undefined,
      'true',
    ]);
    await api.as().delete(`${MONITORS}/${id}`);
    expect((await create('again', { name: 'again' })).body).toEqual(first.body);
    expect(await countOf('again')).toBe(0);
    const { rows } = await api.database.pool.query<{ hash: string }>(
      "select request_hash as hash from idempotency_keys where key = 'again'",
    );
    // By the current key: a request contains headers, which must not be guessable from a copy of the table.
    expect(rows[0]?.hash).toMatch(new RegExp(`^${api.context.secrets.currentKeyId}[.]`));
  });

  test('many requests at once: one monitor; the others get a 409', async () => {
    const responses = await Promise.all(Array.from({ length: 8 }, () => create('crowd', { name: 'crowd' })));
    expect(await countOf('crowd')).toBe(1);
    const ids = responses
      .filter(({ status }) => status === 201)
      .map(({ body }) => (body as { monitor: Monitor }).monitor.id);
    expect(new Set(ids).size).toBe(1);
    for (const { status, body, headers } of responses.filter((response) => response.status !== 201)) {
      expect([status, body, headers]).toEqual([
        409,
        expect.objectContaining({ type: 'urn:tocsin:problem:request-in-flight' }),
        expect.objectContaining({ 'retry-after': '1' }),
      ]);
    }
  });

  test('another body: 422; another account: its own monitor', async () => {
    await create('other', { name: 'other' });
    const other = await create('other', { name: 'something else' });
    expect([other.status, other.body]).toEqual([
      422,
      expect.objectContaining({ type: 'urn:tocsin:problem:idempotency-key-reused' }),
    ]);
    expect(await countOf('something else')).toBe(0);
    expect((await create('other', { name: 'theirs' }, api.other.key)).status).toBe(201);
  });

  test('a refused request may be corrected and sent again with the same key', async () => {
    expect((await create('refused', { name: '' })).status).toBe(400);
    await newMonitor(api, { externalId: 'refused' });
    expect((await create('refused', { externalId: 'refused' })).status).toBe(409);
    expect((await create('refused', { externalId: 'refused-2' })).status).toBe(201);
  });

  test('lasts 24 hours, then housekeeping removes it', async () => {
    await create('day', { name: 'day' });
    const age = 'update idempotency_keys set created_at = created_at - $1::interval where key = $2';
    await api.database.pool.query(age, ['23 hours', 'day']);
    await create('day', { name: 'day' });
    expect(await countOf('day')).toBe(1);
    await api.database.pool.query(age, ['2 hours', 'day']);
    await create('day', { name: 'day' });
    expect(await countOf('day')).toBe(2);
    await api.database.pool.query(age, ['25 hours', 'day']);
    const { db, logger } = api.context;
    const databaseClock = new DatabaseClock({
      readClock: () => readClock(db),
      readState: async () => null,
      writeDoubt: async () => undefined,
      logger,
    });
    await runMaintenanceTasks({ db, logger, databaseClock, retentionDays: 90, isLeader: () => true });
    const { rows } = await api.database.pool.query("select key from idempotency_keys where key = 'day'");
    expect(rows).toEqual([]);
  });

  test('stores no secret', async () => {
    await create('secret', { name: 'secret' });
    const { rows } = await api.database.pool.query(
      "select answer::text as answer from idempotency_keys where key = 'secret'",
    );
    expect(JSON.stringify(rows)).not.toMatch(/secret-token|päng|shop\.example/);
  });

  test.each(['', 'ä', 'x'.repeat(256)])('%j is none: 400', async (key) => {
    const response = await create(
      encodeURIComponent(key) === key ? key : Buffer.from(key).toString('latin1'),
    );
    expect([response.status, response.body]).toEqual([
      400,
      expect.objectContaining({ errors: [expect.objectContaining({ path: 'Idempotency-Key' })] }),
    ]);
  });
});
