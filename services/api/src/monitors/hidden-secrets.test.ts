import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type TestAgent from 'supertest/lib/agent.js';
import { MONITORS, newMonitor } from '../testing/monitors.ts';
import { signIn } from '../testing/sign-in.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

const SOURCE = 'hidden';
const HEADERS = { Authorization: 'Bearer s3cret-token', 'X-Empty': '' };
const BODY = '{"password": "s3cret-body"}';
const HIDDEN = { headers: { Authorization: '(secret)', 'X-Empty': '(secret)' }, body: '(secret)' };

let api: TestApi;
/** Without the scope `write`. */
let reader: TestAgent;
let monitor: Monitor;
beforeAll(async () => {
  api = await openTestApi();
  reader = api.as(api.account.readKey);
  const fields = { method: 'POST', headers: HEADERS, body: BODY, source: SOURCE, externalId: 'shop' };
  monitor = await newMonitor(api, fields);
});
afterAll(() => api.close());

async function read(agent: TestAgent): Promise<{ monitor: Monitor; etag: string; text: string }> {
  const response = await agent.get(`${MONITORS}/${monitor.id}`);
  const { monitor: shown } = response.body as { monitor: Monitor };
  return { monitor: shown, etag: response.headers['etag'] ?? '', text: response.text };
}

describe('a key without the scope write', () => {
  test('sees a placeholder in place of header values and bodies', async () => {
    const list = await reader.get(MONITORS);
    expect((list.body as { monitors: Monitor[] }).monitors).toEqual([{ ...monitor, ...HIDDEN }]);
    const single = await read(reader);
    expect(single.monitor).toEqual({ ...monitor, ...HIDDEN });
    expect(list.text + single.text).not.toContain('s3cret');
  });

  test('sees that there are no headers and no body', async () => {
    const { id } = await newMonitor(api);
    const empty = await newMonitor(api, { headers: {} });
    const shown = ((await reader.get(MONITORS)).body as { monitors: Monitor[] }).monitors;
    expect(shown.find((each) => each.id === id)).toMatchObject({ headers: null, body: null });
    expect(shown.find((each) => each.id === empty.id)).toMatchObject({ headers: {}, body: null });
  });

  test('does not see whether a monitor can be decrypted', async () => {
    const { id } = await newMonitor(api, { headers: HEADERS });
    await api.database.pool.query(
      `update monitors set sealed_headers = '{"Authorization": "v1.00000000.lost"}' where id = $1`,
      [id],
    );
    const response = await reader.get(`${MONITORS}/${id}`);
    expect(response.body).toMatchObject({ monitor: { headers: { Authorization: '(secret)' } } });
  });

  test('finds differences of hidden values with the dry run of a set', async () => {
    const entry = { externalId: 'shop', name: 'Shop', url: monitor.url, method: 'POST' };
    const changedBy = async (fields: object): Promise<readonly string[]> => {
      const set = { source: SOURCE, monitors: [{ ...entry, ...fields }], dryRun: true };
      const response = await reader.put(MONITORS).send(set);
      expect([response.status, response.text]).toEqual([200, expect.not.stringContaining('s3cret')]);
      const { updated } = response.body as { updated: { fields: string[] }[] };
      return updated.flatMap(({ fields }) => fields);
    };
    expect(await changedBy({ headers: HEADERS, body: BODY })).toEqual([]);
    expect(await changedBy({ headers: { ...HEADERS, Authorization: 'other' }, body: BODY })).toEqual([
      'headers',
    ]);
    expect(await changedBy({ headers: HEADERS, body: 'other' })).toEqual(['body']);
    expect(await changedBy({})).toEqual(['headers', 'body']);
  });
});

test.each(['write', 'read,write'] as const)('a key with the scopes %s sees them', async (scopes) => {
  expect((await read(api.as((await api.newKey(scopes)).key))).monitor).toEqual(monitor);
});

test('users of the dashboard see them', async () => {
  const agent = await signIn(api, { role: 'member' });
  const response = await agent.get(`/api/dashboard/monitors/${monitor.id}`);
  expect(response.body).toMatchObject({ monitor });
});

describe('the ETag', () => {
  test('never makes a key accept what another one may see', async () => {
    const [hidden, full] = [await read(reader), await read(api.as())];
    for (const [agent, etag, shown] of [
      [api.as(), hidden.etag, monitor],
      [reader, full.etag, { ...monitor, ...HIDDEN }],
    ] as const) {
      const response = await agent.get(`${MONITORS}/${monitor.id}`).set('If-None-Match', etag);
      expect([response.status, response.body]).toMatchObject([200, { monitor: shown }]);
      expect(response.headers['cache-control']).toMatch(/no-store/);
    }
  });

  test('of a key without the scope write is valid in If-Match', async () => {
    const { id } = await newMonitor(api, { headers: HEADERS });
    const path = `${MONITORS}/${id}`;
    const etag = (await reader.get(path)).headers['etag'] ?? '';
    const update = (name: string) => api.as().put(path).set('If-Match', etag).send({ name });
    expect((await update('New')).body).toMatchObject({ monitor: { name: 'New', headers: HEADERS } });
    expect((await update('Newer')).status).toBe(412);
  });
});

describe('the placeholder', () => {
  const message = expect.stringContaining(
    'must be the actual value: "(secret)" stands for one that is hidden',
  );
  const errorsAt = (...paths: string[]): object => ({ errors: paths.map((path) => ({ path, message })) });
  const FAULTS = ['headers.Authorization', 'headers.X-Empty', 'body'];

  test('is refused by updates: the values stay', async () => {
    const response = await api.as().put(`${MONITORS}/${monitor.id}`).send(HIDDEN);
    expect([response.status, response.body]).toMatchObject([400, errorsAt(...FAULTS)]);
    expect((await read(api.as())).monitor).toEqual(monitor);
  });

  test('is refused for new monitors', async () => {
    const response = await api
      .as()
      .post(MONITORS)
      .send({ name: 'New', url: 'https://new.example', ...HIDDEN });
    expect([response.status, response.body]).toMatchObject([400, errorsAt(...FAULTS)]);
  });

  test.each([true, false])('is refused in sets, with dryRun %s', async (dryRun) => {
    const entry = { externalId: 'shop', name: 'Shop', url: monitor.url, ...HIDDEN };
    const response = await api
      .as()
      .put(MONITORS)
      .send({ source: SOURCE, monitors: [entry], dryRun });
    const paths = FAULTS.map((path) => `monitors.0.${path}`);
    expect([response.status, response.body]).toMatchObject([400, errorsAt(...paths)]);
    expect((await read(api.as())).monitor).toEqual(monitor);
  });

  test('may be part of a value', async () => {
    const fields = { headers: { A: '(secret) ' }, body: 'a (secret)' };
    expect(await newMonitor(api, fields)).toMatchObject(fields);
  });
});
