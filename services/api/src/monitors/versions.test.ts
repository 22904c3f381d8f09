import { describe, expect, test } from '@jest/globals';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { FULL_MONITOR, MONITORS, newMonitor, recordCheck } from '../testing/monitors.ts';
import { signIn } from '../testing/sign-in.ts';
import { useTestApi } from '../testing/test-api.ts';

const api = await useTestApi();

describe('the ETag of a monitor, and If-Match', () => {
  const etagOf = async (id: string): Promise<string> =>
    (await api.as().get(`${MONITORS}/${id}`)).get('etag') ?? '';
  const put = (id: string, ifMatch: string, name: string) =>
    api.as().put(`${MONITORS}/${id}`).set('If-Match', ifMatch).send({ name });
  const remove = (id: string, ifMatch: string) =>
    api.as().delete(`${MONITORS}/${id}`).set('If-Match', ifMatch);

  test('a write to an older version: 412, and nothing is written', async () => {
    const { id } = await newMonitor(api, { name: 'old' });
    const stale = await etagOf(id);
    expect((await put(id, stale, 'new')).status).toBe(200);
    for (const ifMatch of [stale, 'nonsense', `${stale}, W/"other"`]) {
      expect((await put(id, ifMatch, 'lost')).status).toBe(412);
      expect((await remove(id, ifMatch)).status).toBe(412);
    }
    expect((await api.as().get(`${MONITORS}/${id}`)).body).toMatchObject({ monitor: { name: 'new' } });
    expect((await put(id, '*', 'new')).status).toBe(200);
    // A compressing proxy makes a version weak.
    const current = `W/${await etagOf(id)}`;
    expect((await put(id, `"other",${current}`, 'newer')).status).toBe(200);
    expect((await put(id, current, 'lost')).status).toBe(412);
    expect((await remove(id, `"other" , ${await etagOf(id)}`)).status).toBe(204);
    expect((await remove(id, current)).status).toBe(404);
  });

  test('If-None-Match returns 304 until a field changes', async () => {
    const { id } = await newMonitor(api);
    const etag = await etagOf(id);
    const statusWith = async (sent: string): Promise<number> =>
      (await api.as().get(`${MONITORS}/${id}`).set('If-None-Match', sent)).status;
    expect([await statusWith(etag), await statusWith(`"other", W/${etag}`)]).toEqual([304, 304]);
    await recordCheck(api, id);
    expect([await statusWith(etag), await statusWith('"other"')]).toEqual([304, 200]);
    await put(id, etag, 'new').then(({ status }) => expect(status).toBe(200));
    expect(await statusWith(etag)).toBe(200);
  });
});

describe('the ETag of the list', () => {
  const etagOf = async (key?: string): Promise<string> =>
    (await api.as(key).get(MONITORS)).headers['etag'] ?? '';

  const statusWith = async (ifNoneMatch: string, key?: string): Promise<number> =>
    (await api.as(key).get(MONITORS).set('If-None-Match', ifNoneMatch)).status;

  test('saves an unchanged list', async () => {
    await newMonitor(api);
    const list = await api.as().get(MONITORS);
    const { etag = '', vary, 'cache-control': cacheControl } = list.headers;
    for (const sent of [etag, etag.slice(2), `"other", ${etag}`]) {
      const again = await api.as().get(MONITORS).set('If-None-Match', sent);
      expect([again.status, again.text, again.headers['etag']]).toEqual([304, '', etag]);
      expect(again.headers).toMatchObject({ vary, 'cache-control': cacheControl });
    }
    expect(cacheControl).toBe('no-store');
    expect(vary).toContain('Accept-Encoding');
    expect((await api.as().head(MONITORS)).headers['etag']).toBe(etag);
    expect(await statusWith('W/"other"')).toBe(200);
  });

  test('changes with everything that the list shows, and never returns', async () => {
    const seen = new Set<string>();
    const { id } = await newMonitor(api, { headers: { Authorization: 'a' }, labels: { app: 'a' } });
    const update = async (fields: object): Promise<void> => {
      await api.as().put(`${MONITORS}/${id}`).send(fields).expect(200);
    };
    const changes: [what: string, change: () => Promise<unknown>][] = [
      ['a first check', () => recordCheck(api, id)],
      ['another check', () => recordCheck(api, id)],
      ['a status change', () => recordCheck(api, id, true)],
      ['a field', () => update({ name: 'Other' })],
      ['the field changes back', () => update({ name: 'Shop' })],
      ['a label', () => update({ labels: { app: 'b' } })],
      ['a header value', () => update({ headers: { Authorization: 'b' } })],
      ['a new monitor', () => newMonitor(api)],
      ['a deleted monitor', () => api.as().delete(`${MONITORS}/${id}`)],
    ];
    for (const [what, change] of changes) {
      const before = await etagOf();
      seen.add(before);
      await change();
      expect([what, await statusWith(before)]).toEqual([what, 200]);
      expect([what, seen.has(await etagOf())]).toEqual([what, false]);
    }
  });

  test('changes with a commit, not with the time of the change', async () => {
    const client = await api.database.pool.connect();
    try {
      await client.query('begin');
      await client.query(
        `insert into monitors (id, account_id, name, url, type, interval_seconds, timeout_seconds, method, failure_threshold, regions)
         values (gen_random_uuid(), $1, 'Late', 'https://late.example', 'HTTP', 60, 10, 'GET', 1, '{}')`,
        [api.account.id],
      );
      await newMonitor(api, { name: 'Later, but committed first' });
      const before = await etagOf();
      expect(await statusWith(before)).toBe(304);
      await client.query('commit');
      expect(await statusWith(before)).toBe(200);
    } finally {
      client.release();
    }
  });

  test('differs by what the caller may see, and by account', async () => {
    const etags = await Promise.all(
      [undefined, api.account.readKey, api.other.key].map((key) => etagOf(key)),
    );
    expect(new Set(etags).size).toBe(3);
    expect(await statusWith(etags[0] ?? '', api.account.readKey)).toBe(200);
    const agent = await signIn(api);
    const { headers } = await agent.get('/api/dashboard/monitors');
    const again = await agent.get('/api/dashboard/monitors').set('If-None-Match', headers['etag'] ?? '');
    expect(again.status).toBe(304);
  });
});

describe('Idempotency-Key', () => {
  const create = (key: string, fields: Record<string, unknown> = {}, caller?: string) =>
    api
      .as(caller)
      .post(MONITORS)
      .set('Idempotency-Key', key)
      .send({ ...FULL_MONITOR, externalId: null, name: key, ...fields });
  const countOf = async (name: string): Promise<number> =>
    (await api.database.pool.query('select from monitors where name = $1', [name])).rowCount ?? 0;

  test('the same request again: the monitor as it was created, and no second one', async () => {
    const first = await create('again');
    const { id } = (first.body as { monitor: Monitor }).monitor;
    await api.as().put(`${MONITORS}/${id}`).send({ name: 'renamed' });
    const second = await create('"again"', { name: 'again' });
    expect([second.status, second.body]).toEqual([201, first.body]);
    expect(await countOf('again')).toBe(0);
  });

  test('stores no secret, and nothing that allows guessing one', async () => {
    await create('secret');
    const { rows } = await api.database.pool.query<{ hash: string; answer: string }>(
      `select request_hash as hash, answer::text from idempotency_keys where key = 'secret'`,
    );
    expect(rows[0]?.answer).toContain('id');
    expect(rows[0]?.answer).not.toMatch(/secret-token|päng|shop\.example/);
    // The hash is by the current key, because a request contains header values.
    expect(rows[0]?.hash).toMatch(new RegExp(`^${api.context.secrets.currentKeyId}[.]`));
  });

  test('many requests at once: one monitor; the others get a 409', async () => {
    const responses = await Promise.all(Array.from({ length: 8 }, () => create('crowd')));
    expect(await countOf('crowd')).toBe(1);
    const created = responses.filter(({ status }) => status === 201);
    expect(new Set(created.map(({ body }) => (body as { monitor: Monitor }).monitor.id)).size).toBe(1);
    for (const { status, body, headers } of responses.filter((response) => response.status !== 201))
      expect([status, body, headers]).toMatchObject([
        409,
        { type: 'urn:tocsin:problem:request-in-flight' },
        { 'retry-after': '1' },
      ]);
  });

  test('another account: its own monitor', async () => {
    await create('other');
    expect((await create('other', { name: 'theirs' }, api.other.key)).status).toBe(201);
  });

  test('a refused request may be corrected and sent again with the same key', async () => {
    expect((await create('refused', { name: '' })).status).toBe(400);
    await newMonitor(api, { externalId: 'refused' });
    expect((await create('refused', { externalId: 'refused' })).status).toBe(409);
    expect((await create('refused', { externalId: 'refused-2' })).status).toBe(201);
  });

  test('lasts 24 hours', async () => {
    const age = (hours: number): Promise<unknown> =>
      api.database.pool.query(
        `update idempotency_keys set created_at = created_at - make_interval(hours => $1) where key = 'day'`,
        [hours],
      );
    await create('day');
    await age(23);
    await create('day');
    expect(await countOf('day')).toBe(1);
    await age(2);
    await create('day');
    expect(await countOf('day')).toBe(2);
  });

  test('rejects a key that is not ASCII: 400', async () => {
    const response = await create(Buffer.from('ä').toString('latin1'));
    expect([response.status, response.body]).toMatchObject([400, { errors: [{ path: 'Idempotency-Key' }] }]);
  });
});
