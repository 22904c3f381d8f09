import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { MONITORS, newMonitor } from '../testing/monitors.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

let api: TestApi;
/** A monitor whose header values and body no key decrypts. */
let broken: Monitor;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  broken = await newMonitor(api, {
    method: 'POST',
    headers: { Authorization: 'Bearer secret' },
    body: 'secret',
    source: 'unreadable',
    externalId: crypto.randomUUID(),
  });
  await api.database.pool.query(
    `update monitors set sealed_headers = '{"Authorization": "v1.00000000.lost"}', sealed_body = 'v1.00000000.lost' where id = $1`,
    [broken.id],
  );
});

const shown = { headers: { Authorization: '(unreadable)' }, body: '(unreadable)' };

async function sealedOf(id: string): Promise<unknown> {
  const { rows } = await api.database.pool.query(
    'select sealed_headers, sealed_body from monitors where id = $1',
    [id],
  );
  return rows[0];
}

describe('a monitor that no key decrypts', () => {
  test('does not break lists', async () => {
    const other = await newMonitor(api);
    const response = await api.as().get(MONITORS);
    expect(response.status).toBe(200);
    const { monitors } = response.body as { monitors: Monitor[] };
    expect(monitors.find(({ id }) => id === other.id)).toEqual(other);
    expect(monitors.find(({ id }) => id === broken.id)).toEqual({ ...broken, ...shown });
  });

  test('is returned with placeholders', async () => {
    const response = await api.as().get(`${MONITORS}/${broken.id}`);
    expect([response.status, response.body]).toEqual([
      200,
      expect.objectContaining({ monitor: { ...broken, ...shown } }),
    ]);
  });

  test.each([{ name: 'New' }, { headers: { Authorization: 'new' } }, { body: 'new' }])(
    'is not updated by %j, which would lose encrypted values: 409',
    async (update) => {
      const sealed = await sealedOf(broken.id);
      const response = await api.as().put(`${MONITORS}/${broken.id}`).send(update);
      expect(response.status).toBe(409);
      expect(response.body).toMatchObject({ detail: expect.stringContaining('send headers and body again') });
      expect(await sealedOf(broken.id)).toEqual(sealed);
    },
  );

  test('is readable again after an update that replaces headers and body', async () => {
    const update = { headers: { Authorization: 'new' }, body: 'new' };
    const response = await api.as().put(`${MONITORS}/${broken.id}`).send(update);
    expect([response.status, response.body]).toMatchObject([200, { monitor: update }]);
  });

  test.each([shown, { ...shown, name: 'New' }, { headers: { A: 'b' }, body: '(unreadable)' }])(
    'is not updated with the placeholder of its secrets: 400 for %j',
    async (update) => {
      const sealed = await sealedOf(broken.id);
      const response = await api.as().put(`${MONITORS}/${broken.id}`).send(update);
      expect(response.status).toBe(400);
      const paths = (response.body as { errors: { path: string }[] }).errors.map(({ path }) => path);
      expect(paths).toEqual(update.headers === shown.headers ? ['headers.Authorization', 'body'] : ['body']);
      expect(await sealedOf(broken.id)).toEqual(sealed);
    },
  );

  test('is not replaced by a set with the placeholder: 400', async () => {
    const sealed = await sealedOf(broken.id);
    const { externalId, url } = broken;
    const monitors = [{ name: 'Shop', url, externalId, method: 'POST', ...shown }];
    const response = await api.as().put(MONITORS).send({ source: 'unreadable', monitors });
    expect([response.status, response.body]).toMatchObject([
      400,
      { errors: [{ path: 'monitors.0.headers.Authorization' }, { path: 'monitors.0.body' }] },
    ]);
    expect(await sealedOf(broken.id)).toEqual(sealed);
  });

  test('is not triggered: 409 at once', async () => {
    const response = await api.as().post(`${MONITORS}/${broken.id}/trigger`);
    expect([response.status, response.body]).toMatchObject([
      409,
      { detail: expect.stringContaining('cannot be checked') },
    ]);
  });

  test('the placeholder is an ordinary value if the monitor can be read', async () => {
    const { id } = await newMonitor(api, { method: 'POST', body: 'a' });
    const response = await api.as().put(`${MONITORS}/${id}`).send({ body: '(unreadable)' });
    expect([response.status, response.body]).toMatchObject([200, { monitor: { body: '(unreadable)' } }]);
  });

  test('is replaced by a set with its headers and body', async () => {
    const { externalId } = broken;
    const monitors = [
      { name: 'Shop', url: broken.url, externalId, method: 'POST', headers: { A: 'b' }, body: 'c' },
    ];
    const response = await api.as().put(MONITORS).send({ source: 'unreadable', monitors });
    expect(response.status).toBe(200);
    const after = await api.as().get(`${MONITORS}/${broken.id}`);
    expect(after.body).toMatchObject({ monitor: { headers: { A: 'b' }, body: 'c' } });
  });

  test('can be deleted', async () => {
    expect((await api.as().delete(`${MONITORS}/${broken.id}`)).status).toBe(204);
  });
});
