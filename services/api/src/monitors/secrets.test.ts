import { randomUUID } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createCertificate } from '@tocsin/embedded/certificates';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { Response } from 'supertest';
import type TestAgent from 'supertest/lib/agent.js';
import { listMonitors, MONITORS, newMonitor } from '../testing/monitors.ts';
import { signIn } from '../testing/sign-in.ts';
import { useTestApi } from '../testing/test-api.ts';

const HEADERS = { Authorization: 'Bearer s3cret-token', 'X-Empty': '' };
const BODY = '{"password": "s3cret-body"}';

const client = await createCertificate(['client.test']);
const TLS = { certificate: client.cert, key: client.key, verify: false };

const api = await useTestApi();
/** Without the scope `write`. */
const reader = api.as(api.account.readKey);

async function read(agent: TestAgent, id: string): Promise<{ monitor: Monitor; etag: string; text: string }> {
  const response = await agent.get(`${MONITORS}/${id}`);
  const { monitor } = response.body as { monitor: Monitor };
  return { monitor, etag: response.headers['etag'] ?? '', text: response.text };
}

async function list(agent: TestAgent): Promise<Map<string, Monitor>> {
  return new Map((await listMonitors(agent)).map((monitor) => [monitor.id, monitor]));
}

/** Applies a set of this one monitor. */
const putSet = (
  agent: TestAgent,
  { source, externalId, name, url }: Monitor,
  fields: object,
  dryRun = false,
) =>
  agent
    .put(MONITORS)
    .send({ source, monitors: [{ externalId, name, url, method: 'POST', ...fields }], dryRun });

const secretFields = (): Record<string, unknown> => ({
  method: 'POST',
  headers: HEADERS,
  body: BODY,
  tls: TLS,
  source: 'secrets',
  externalId: randomUUID(),
});

const pathsOf = ({ body }: Response): string[] =>
  (body as { errors: { path: string }[] }).errors.map(({ path }) => path);

describe('header values, the body and the TLS key are hidden', () => {
  const HIDDEN = {
    headers: { Authorization: '(secret)', 'X-Empty': '(secret)' },
    body: '(secret)',
    tls: { ...TLS, key: '(secret)' },
  };
  let monitor: Monitor;
  beforeAll(async () => {
    monitor = await newMonitor(api, secretFields());
  });

  test('from a key without the scope write', async () => {
    const shown = { ...monitor, ...HIDDEN };
    expect((await list(reader)).get(monitor.id)).toEqual(shown);
    const single = await read(reader, monitor.id);
    expect(single.monitor).toEqual(shown);
    expect(single.text).not.toMatch(/s3cret|PRIVATE KEY/);
    // It is no secret that there are no headers and no body.
    const { id } = await newMonitor(api, { headers: {} });
    expect((await read(reader, id)).monitor).toMatchObject({ headers: {}, body: null, tls: null });
    const { id: trusting } = await newMonitor(api, { tls: { ca: client.ca } });
    expect((await read(reader, trusting)).monitor).toMatchObject({ tls: { ca: client.ca } });
    expect((await list(reader)).get(trusting)).toMatchObject({ tls: { ca: client.ca } });
    const { rows } = await api.database.pool.query(
      'select monitors::text, (select string_agg(a::text, null) from audit_log a) from monitors',
    );
    expect(JSON.stringify(rows)).not.toMatch(/PRIVATE KEY|s3cret/);
  });

  test('neither from a key with only the scope write nor from users', async () => {
    expect((await read(api.as((await api.newKey('write')).key), monitor.id)).monitor).toEqual(monitor);
    const member = await signIn(api, { role: 'member' });
    const { body } = await member.get(`/api/dashboard/monitors/${monitor.id}`);
    expect(body).toMatchObject({ monitor });
  });

  test('but the dry run of a set shows whether they differ', async () => {
    const changedBy = async (fields: object): Promise<readonly string[]> => {
      const response = await putSet(reader, monitor, fields, true);
      expect([response.status, response.text]).toEqual([200, expect.not.stringContaining('s3cret')]);
      const { updated } = response.body as { updated: { fields: string[] }[] };
      return updated.flatMap(({ fields }) => fields);
    };
    expect(await changedBy({ headers: HEADERS, body: BODY, tls: TLS })).toEqual([]);
    const changed = { ...HEADERS, Authorization: 'other' };
    expect(await changedBy({ headers: changed, body: BODY, tls: TLS })).toEqual(['headers']);
    expect(await changedBy({ headers: HEADERS, body: 'other', tls: TLS })).toEqual(['body']);
    expect(await changedBy({ headers: HEADERS, body: BODY })).toEqual(['tls']);
    expect(await changedBy({})).toEqual(['headers', 'body', 'tls']);
  });

  test('but the ETag of a key without the scope write is valid in If-Match', async () => {
    const { id } = await newMonitor(api, { headers: HEADERS });
    const { etag } = await read(reader, id);
    const rename = (name: string) => api.as().put(`${MONITORS}/${id}`).set('If-Match', etag).send({ name });
    expect((await rename('New')).body).toMatchObject({ monitor: { name: 'New', headers: HEADERS } });
    expect((await rename('Newer')).status).toBe(412);
  });

  test('and their placeholder is refused by each write: the values stay', async () => {
    const invalid = ['headers.Authorization', 'headers.X-Empty', 'body', 'tls.key'];
    const invalidInSet = invalid.map((path) => `monitors.0.${path}`);
    const fields = { name: 'New', url: 'https://new.example', ...HIDDEN };
    for (const [response, paths] of [
      [await api.as().put(`${MONITORS}/${monitor.id}`).send(HIDDEN), invalid],
      [await api.as().post(MONITORS).send(fields), invalid],
      [await putSet(api.as(), monitor, HIDDEN), invalidInSet],
    ] as const)
      expect([response.status, pathsOf(response)]).toEqual([400, paths]);
    expect((await read(api.as(), monitor.id)).monitor).toEqual(monitor);
    const similar = { headers: { A: '(secret) ' }, body: 'a (secret)' };
    expect(await newMonitor(api, similar)).toMatchObject(similar);
  });
});

describe('a monitor that no key decrypts', () => {
  const SHOWN = {
    headers: { Authorization: '(unreadable)', 'X-Empty': '(unreadable)' },
    body: '(unreadable)',
    tls: { ...TLS, key: '(unreadable)' },
  };
  const NEW = { headers: { Authorization: 'new' }, body: 'new', tls: null };
  let broken: Monitor;
  beforeEach(async () => {
    broken = await newMonitor(api, secretFields());
    await api.database.pool.query(
      `update monitors set sealed_headers = '{"Authorization": "v1.00000000.lost", "X-Empty": "v1.00000000.lost"}',
         sealed_body = 'v1.00000000.lost', sealed_tls_key = 'v1.00000000.lost' where id = $1`,
      [broken.id],
    );
  });

  async function sealed(): Promise<unknown> {
    const sql = 'select sealed_headers, sealed_body, sealed_tls_key from monitors where id = $1';
    return (await api.database.pool.query(sql, [broken.id])).rows;
  }

  test('is shown with placeholders, and does not break lists', async () => {
    const other = await newMonitor(api);
    const shown = await list(api.as());
    expect(shown.get(other.id)).toEqual(other);
    expect(shown.get(broken.id)).toEqual({ ...broken, ...SHOWN });
    expect((await read(api.as(), broken.id)).monitor).toEqual({ ...broken, ...SHOWN });
    const { monitor: hidden } = await read(reader, broken.id);
    expect(hidden).toMatchObject({
      headers: { Authorization: '(secret)' },
      body: '(secret)',
      tls: { key: '(secret)' },
    });
  });

  test.each<[number, object, string[] | null]>([
    // These would lose encrypted values.
    [409, { name: 'New' }, null],
    [409, { headers: { Authorization: 'new' } }, null],
    [409, { body: 'new' }, null],
    [409, { headers: {}, body: null }, null],
    [400, { ...SHOWN, tls: null }, ['headers.Authorization', 'headers.X-Empty', 'body']],
    [400, { headers: { A: 'b' }, body: '(unreadable)', tls: null }, ['body']],
    [400, { tls: SHOWN.tls }, ['tls.key']],
  ])('responds with %i to the update %j', async (status, fields, paths) => {
    const before = await sealed();
    const response = await api.as().put(`${MONITORS}/${broken.id}`).send(fields);
    expect(response.status).toBe(status);
    if (paths) expect(pathsOf(response)).toEqual(paths);
    else expect(response.text).toContain('send headers, body and tls again');
    expect(await sealed()).toEqual(before);
  });

  test('is not replaced by a set with the placeholder: 400', async () => {
    const before = await sealed();
    const response = await putSet(api.as(), broken, { ...SHOWN, tls: null });
    const paths = ['monitors.0.headers.Authorization', 'monitors.0.headers.X-Empty', 'monitors.0.body'];
    expect([response.status, pathsOf(response)]).toEqual([400, paths]);
    expect(await sealed()).toEqual(before);
  });

  test.each([
    ['an update', () => api.as().put(`${MONITORS}/${broken.id}`).send(NEW)],
    ['a set', () => putSet(api.as(), broken, NEW)],
  ])('is readable again after %s with its headers and body', async (_, write) => {
    expect((await write()).status).toBe(200);
    expect((await read(api.as(), broken.id)).monitor).toMatchObject(NEW);
  });

  test('is not triggered: 409 at once; it can be deleted', async () => {
    expect((await api.as().post(`${MONITORS}/${broken.id}/trigger`)).status).toBe(409);
    expect((await api.as().delete(`${MONITORS}/${broken.id}`)).status).toBe(204);
  });
});

test('the placeholder of unreadable secrets is an ordinary value of a monitor that can be read', async () => {
  const { id } = await newMonitor(api, { method: 'POST', body: 'a' });
  const response = await api.as().put(`${MONITORS}/${id}`).send({ body: '(unreadable)' });
  expect([response.status, response.body]).toMatchObject([200, { monitor: { body: '(unreadable)' } }]);
});

test('certificates and keys are parsed by each write', async () => {
  const other = await createCertificate(['client.test']);
  const tls = {
    ca: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----',
    certificate: client.cert,
    key: other.key,
  };
  const paths = ['tls.ca', 'tls.key'];
  const monitor = await newMonitor(api, { source: 'secrets', externalId: randomUUID() });
  const created = await api.as().post(MONITORS).send({ name: 'New', url: 'https://new.example', tls });
  const updated = await api.as().put(`${MONITORS}/${monitor.id}`).send({ tls });
  expect([created, updated].map(pathsOf)).toEqual([paths, paths]);
  const set = await putSet(api.as(), monitor, { tls });
  expect(pathsOf(set)).toEqual(paths.map((path) => `monitors.0.${path}`));
  expect(created.text).toMatch(/is not a PEM certificate.*belongs to another key/s);
});
