import { describe, expect, test } from '@jest/globals';
import { createMonitorSchema, type Monitor, monitorSchema } from '@tocsin/contracts/monitors/monitor';
import { PROPERTY_PARAMETERS } from '@tocsin/core/testing/property-parameters';
import * as fc from 'fast-check';
import { MONITORS, newMonitor } from '../testing/monitors.ts';
import { useTestApi } from '../testing/test-api.ts';

fc.configureGlobal(PROPERTY_PARAMETERS);

const api = await useTestApi();
const monitor = await newMonitor(api);

/** Differs if any field of any monitor does. */
async function hashMonitors(): Promise<unknown> {
  const { rows } = await api.database.pool.query(
    `select md5(string_agg(m::text, '' order by id)) as hash, count(*)::int as count from monitors m`,
  );
  return rows;
}

const create = (body?: object) => api.as().post(MONITORS).send(body);
const update = (id: string, body: object) => api.as().put(`${MONITORS}/${id}`).send(body);

describe('an invalid field', () => {
  test('is refused with its path, on create and on update, and nothing is written', async () => {
    const before = await hashMonitors();
    const enqueued = api.enqueued.length;
    for (const [response, errors] of [
      [await create({ name: 'a', url: 'http://a.example', interval: 4 }), [{ path: 'interval' }]],
      [await create(), [{ path: 'name' }, { path: 'url' }]],
      [await update(monitor.id, { interval: 4 }), [{ path: 'interval' }]],
    ] as const) {
      expect([response.status, response.type]).toEqual([400, 'application/problem+json']);
      expect(response.body).toMatchObject({ errors });
    }
    expect(await hashMonitors()).toEqual(before);
    expect(api.enqueued).toHaveLength(enqueued);
  });

  test('is one of at most a hundred that are reported', async () => {
    const response = await create(
      Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`field${index}`, 1])),
    );
    expect(response.status).toBe(400);
    expect((response.body as { errors: unknown[] }).errors).toHaveLength(100);
    expect(response.text.length).toBeLessThan(100_000);
  });

  test('is found in the merged monitor of an update', async () => {
    const { id } = await newMonitor(api, { assertions: { bodyContains: 'a' } });
    const response = await update(id, { method: 'HEAD' });
    const errors = [{ path: 'assertions.bodyContains' }];
    expect([response.status, response.body]).toMatchObject([400, { errors }]);
    expect((await update(id, { method: 'HEAD', assertions: null })).status).toBe(200);
  });
});

/** Text of all kinds, including NUL, lone surrogates and special characters of JSON, URLs, SQL and headers. */
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.webUrl(),
  fc.constantFrom('\0', '\ud800', "'; drop table monitors; --", '%00', '__proto__', '{}', 'HEAD', ' '),
);
const anything = fc.oneof(
  fc.jsonValue({ maxDepth: 2, stringUnit: 'binary' }),
  text,
  fc.integer(),
  fc.dictionary(text, fc.jsonValue({ maxDepth: 1 }), { maxKeys: 4 }),
  fc.array(text, { maxLength: 4 }),
);
const field = fc.constantFrom(...Object.keys(createMonitorSchema.shape));
const key = fc.oneof({ weight: 9, arbitrary: field }, { weight: 1, arbitrary: text });
const anyBody = fc.dictionary(key, anything, { maxKeys: 6 });

describe('for any input', () => {
  test('a create is written as it was sent, or refused with reasons', async () => {
    await fc.assert(
      fc.asyncProperty(anyBody, async (given) => {
        const sent = { name: 'a', url: 'http://a.example', ...given };
        const response = await api.as().post(MONITORS).send(JSON.stringify(sent)).type('json');
        if (response.status === 201) {
          const { monitor: created } = response.body as { monitor: Monitor };
          expect(monitorSchema.safeParse(created).error).toBeUndefined();
          expect((await api.as().get(`${MONITORS}/${created.id}`)).body).toMatchObject({ monitor: created });
        } else {
          expect([400, 409]).toContain(response.status);
          expect(response.type).toBe('application/problem+json');
        }
      }),
      { numRuns: 30 },
    );
  });

  test('an update is refused and changes nothing, or leaves a readable monitor', async () => {
    const path = `${MONITORS}/${monitor.id}`;
    await fc.assert(
      fc.asyncProperty(anyBody, async (given) => {
        const before = await hashMonitors();
        const response = await api.as().put(path).send(JSON.stringify(given)).type('json');
        if (response.status === 200) {
          expect((await api.as().get(path)).body).toEqual({ ...(response.body as object), events: [] });
        } else {
          expect([400, 409]).toContain(response.status);
          expect(await hashMonitors()).toEqual(before);
        }
      }),
      { numRuns: 30 },
    );
  });

  test('no id, query, trigger body or raw body is a server error', async () => {
    const post = (path: string, body: string) => api.as().post(path).send(body).type('json');
    await fc.assert(
      fc.asyncProperty(text, text, anything, async (one, other, value) => {
        const [first, second] = [one, other].map((each) => encodeURIComponent(each.toWellFormed()));
        const path = `${MONITORS}/${first}`;
        const responses = await Promise.all([
          api.as().get(path),
          api.as().delete(`${path}/`),
          api.as().get(`${MONITORS}/${monitor.id}/events?limit=${first}&since=${second}`),
          post(`${path}/trigger`, JSON.stringify({ url: value })),
          post(MONITORS, `${one}${JSON.stringify(value)}`),
        ]);
        for (const { status } of responses) expect(status).toBeLessThan(500);
      }),
      { numRuns: 15 },
    );
  });
});
