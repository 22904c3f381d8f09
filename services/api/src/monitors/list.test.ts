import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { until } from '@tocsin/embedded/testing/until';
import { FULL_MONITOR, MONITORS, newMonitor, recordCheck } from '../testing/monitors.ts';
import { signIn } from '../testing/sign-in.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

describe('the ETag of the list', () => {
  async function etagOf(key?: string): Promise<string> {
    return (await api.as(key).get(MONITORS)).headers['etag'] ?? '';
  }

  async function statusWith(ifNoneMatch: string, key?: string): Promise<number> {
    return (await api.as(key).get(MONITORS).set('If-None-Match', ifNoneMatch)).status;
  }

  test('saves an unchanged list', async () => {
    await newMonitor(api);
    const list = await api.as().get(MONITORS);
    const { etag = '', vary, 'cache-control': cacheControl } = list.headers;
    for (const sent of [etag, etag.slice(2), `"other", ${etag}`, '*']) {
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
      ['the status changes back', () => recordCheck(api, id)],
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
    const list = await agent.get('/api/dashboard/monitors');
    const again = await agent.get('/api/dashboard/monitors').set('If-None-Match', list.headers['etag'] ?? '');
    expect(again.status).toBe(304);
  });

  test('is the same for both encodings', async () => {
    const encodings = ['gzip', 'identity'].map((encoding) =>
      api.as().get(MONITORS).set('Accept-Encoding', encoding),
    );
    const [gzip, identity] = await Promise.all(encodings);
    expect(gzip?.headers['etag']).toBe(identity?.headers['etag']);
  });
});

describe('a long list', () => {
  /** Several pages, and more bytes than the kernel buffers for a client that does not read. */
  const COUNT = 5_000;
  const URL_CHARACTERS = 2_000;
  const PER_ACCOUNT = 4;
  beforeAll(async () => {
    await newMonitor(api, { ...FULL_MONITOR, labels: { 'example.com/team': 'a' } }, api.other.key);
    await api.database.pool.query(
      `insert into monitors (id, account_id, name, url, type, interval_seconds, timeout_seconds, method, failure_threshold, regions,
         created_at, last_checked_at, status, error_detail, assertions, runbook_url)
       select gen_random_uuid(), $1, 'Größe "' || n || '"', rpad('https://a.example/', $3::int, md5(n::text)), 'HTTP', 60, 10, 'GET',
         1, '{}', '2026-01-01'::timestamptz + (n / 3) * interval '1 ms', case when n % 2 = 0 then now() end,
         case when n % 3 = 0 then 'DOWN' else 'UP' end, 'refused', case when n % 5 = 0 then '{"bodyContains": "\\u2028\\""}'::jsonb end,
         rpad('https://b.example/', $3::int, md5(n::text))
       from generate_series(1, $2::int) as n`,
      [api.other.id, COUNT, URL_CHARACTERS],
    );
  });

  const headers = (): Record<string, string> => ({ Authorization: `Bearer ${api.other.key}` });

  async function openSlowly(): Promise<{ sent: ClientRequest; response: IncomingMessage }> {
    const sent = request({ port: api.port, path: MONITORS, headers: headers() }).end();
    sent.on('error', () => undefined);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.pause();
    return { sent, response };
  }

  test('shows each monitor as other requests do, newest first', async () => {
    const { rows } = await api.database.pool.query<{ id: string }>(
      'select id from monitors where account_id = $1 order by created_at desc, id desc',
      [api.other.id],
    );
    for (const key of [api.other.key, api.other.readKey]) {
      const { text, body, headers: received } = await api.as(key).get(MONITORS);
      const { monitors } = body as { monitors: Monitor[] };
      expect(monitors.map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
      for (const listed of [monitors[0], monitors[1], monitors[2], monitors.at(-1)]) {
        const { monitor } = (await api.as(key).get(`${MONITORS}/${listed?.id}`)).body as { monitor: Monitor };
        // As text, because the order of fields is the same, too.
        expect(JSON.stringify(listed)).toBe(JSON.stringify(monitor));
      }
      expect(text.startsWith('{"monitors":[{"id":"')).toBe(true);
      expect(received['content-type']).toBe('application/json; charset=utf-8');
    }
  });

  test('is compressed, and the same when it is not', async () => {
    const [gzip, identity] = await Promise.all(
      ['gzip', 'identity'].map((encoding) =>
        api.as(api.other.key).get(MONITORS).set('Accept-Encoding', encoding),
      ),
    );
    expect(gzip?.headers['content-encoding']).toBe('gzip');
    expect(identity?.headers['content-encoding']).toBeUndefined();
    expect(gzip?.text === identity?.text).toBe(true);
  });

  test('waits for a slow client without a connection to Postgres, and ends once the client reads', async () => {
    const { response } = await openSlowly();
    const { pool } = api.database;
    await until('every connection is idle', () => pool.idleCount === pool.totalCount);
    expect((await api.as(api.other.key).get(`${MONITORS}/by-external-id/shop-prod`)).status).toBe(200);
    let text = '';
    for await (const chunk of response.setEncoding('utf8')) text += String(chunk);
    expect((JSON.parse(text) as { monitors: unknown[] }).monitors).toHaveLength(COUNT + 1);
  });

  test('waits for others of the account, and begins when one of their clients disconnects', async () => {
    const slow = await Promise.all(Array.from({ length: PER_ACCOUNT }, openSlowly));
    let responded = false;
    const waiting = api
      .as(api.other.key)
      .get(MONITORS)
      .then((response) => {
        responded = true;
        return response.status;
      });
    expect((await api.as().get(MONITORS)).status).toBe(200);
    expect((await api.as(api.other.key).head(MONITORS)).status).toBe(200);
    expect(responded).toBe(false);
    slow[0]?.sent.destroy();
    expect(await waiting).toBe(200);
    for (const { sent } of slow) sent.destroy();
  });

  test('is never cut off unnoticed: an error breaks the connection', async () => {
    const { response } = await openSlowly();
    await api.database.pool.query('alter table monitors rename to hidden_monitors');
    try {
      await expect(response.resume().toArray()).rejects.toThrow('aborted');
      const failed = await api.as(api.other.key).get(MONITORS);
      expect([failed.status, failed.headers['etag']]).toEqual([500, undefined]);
      expect(failed.body).toMatchObject({ type: 'urn:tocsin:problem:internal' });
    } finally {
      await api.database.pool.query('alter table hidden_monitors rename to monitors');
    }
    expect((await api.as(api.other.key).get(MONITORS)).status).toBe(200);
  });
});
