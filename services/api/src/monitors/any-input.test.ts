import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createMonitorSchema, type Monitor, monitorSchema } from '@tocsin/contracts/monitors/monitor';
import { PROPERTY_PARAMETERS } from '@tocsin/core/testing/property-parameters';
import * as fc from 'fast-check';
import { MONITORS, newMonitor } from '../testing/monitors.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

fc.configureGlobal(PROPERTY_PARAMETERS);

let api: TestApi;
let id: string;
beforeAll(async () => {
  api = await openTestApi();
  ({ id } = await newMonitor(api));
});
afterAll(() => api.close());

/** Text of all kinds, including NUL, lone surrogates and special characters of JSON, URLs, SQL and headers. */
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.webUrl(),
  fc.constantFrom(
    '\0',
    '\ud800',
    "'; drop table monitors; --",
    '%00',
    '__proto__',
    '{}',
    'GET',
    'HEAD',
    ' ',
    '\u202e',
  ),
);
const anything = fc.oneof(
  fc.jsonValue({ maxDepth: 2, stringUnit: 'binary' }),
  text,
  fc.integer(),
  fc.dictionary(text, fc.jsonValue({ maxDepth: 1 }), { maxKeys: 4 }),
  fc.array(text, { maxLength: 4 }),
);
const fields = Object.keys(createMonitorSchema.shape);
const body = fc.dictionary(
  fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...fields) }, { weight: 1, arbitrary: text }),
  anything,
  {
    maxKeys: 6,
  },
);

/** Differs if any field of a monitor does. */
async function everything(): Promise<unknown> {
  const { rows } = await api.database.pool.query(
    `select md5(string_agg(m::text, '' order by id)) as hash, count(*)::int as count from monitors m`,
  );
  return rows;
}

describe('for any input', () => {
  test('a create is written as it was sent, or refused with reasons and not written', async () => {
    await fc.assert(
      fc.asyncProperty(body, async (given) => {
        const sent = { name: 'a', url: 'http://a.example', ...given };
        const response = await api.as().post(MONITORS).send(JSON.stringify(sent)).type('json');
        if (response.status === 201) {
          const { monitor } = response.body as { monitor: Monitor };
          expect(monitorSchema.safeParse(monitor).error).toBeUndefined();
          const read = (await api.as().get(`${MONITORS}/${monitor.id}`)).body as { monitor: Monitor };
          expect(read.monitor).toEqual(monitor);
        } else {
          expect([400, 409]).toContain(response.status);
          expect(response.type).toBe('application/problem+json');
        }
      }),
      { numRuns: 100 },
    );
  });

  test('an update is refused and changes nothing, or leaves a readable record', async () => {
    await fc.assert(
      fc.asyncProperty(body, async (given) => {
        const before = await everything();
        const response = await api.as().put(`${MONITORS}/${id}`).send(JSON.stringify(given)).type('json');
        if (response.status === 200) {
          const read = (await api.as().get(`${MONITORS}/${id}`)).body as { monitor: Monitor };
          expect(response.body).toEqual({ monitor: read.monitor });
        } else {
          expect([400, 409]).toContain(response.status);
          expect(await everything()).toEqual(before);
        }
      }),
      { numRuns: 100 },
    );
  });

  test('no id, query, trigger body or raw body is a server error', async () => {
    await fc.assert(
      fc.asyncProperty(text, text, anything, async (one, other, value) => {
        const path = `${MONITORS}/${encodeURIComponent(one.toWellFormed())}`;
        const query = `limit=${encodeURIComponent(one.toWellFormed())}&since=${encodeURIComponent(other.toWellFormed())}`;
        const responses = await Promise.all([
          api.as().get(path),
          api.as().delete(`${path}/`),
          api.as().get(`${MONITORS}/${id}/events?${query}`),
          api
            .as()
            .post(`${path}/trigger`)
            .send(JSON.stringify({ url: value }))
            .type('json'),
          api
            .as()
            .post(MONITORS)
            .send(`${one}${JSON.stringify(value)}`)
            .type('json'),
        ]);
        for (const { status } of responses) expect(status).toBeLessThan(500);
      }),
      { numRuns: 40 },
    );
  });
});
