import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { monitorFileJsonSchema } from '@tocsin/contracts/monitor-sets/monitor-file';
import { WEBHOOK_EVENTS } from '@tocsin/contracts/vocabulary';
import { listRoutes } from '../testing/list-routes.ts';
import { openTestApi, ORIGIN, type TestApi } from '../testing/test-api.ts';
import { buildDocument } from './document.ts';

const PATH = '/api/cli/openapi.json';
const PUBLIC_URL = 'https://tocsin.example';
const DOCUMENT = buildDocument(PUBLIC_URL);

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

async function faultsOf(document: object): Promise<string[]> {
  const config = await createConfig({
    extends: ['recommended-strict'],
    rules: {
      // What needs no key and takes nothing refuses nothing; who comes back from single sign-on is sent on.
      'operation-4xx-response': 'off',
      'operation-2xx-response': 'off',
      // The messages of the live stream stand in an extension, which is not read.
      'no-unused-components': 'off',
    },
  });
  const source = JSON.stringify(document);
  const problems = await lintFromString({ source, absoluteRef: `${PUBLIC_URL}/openapi.json`, config });
  return problems.map(({ ruleId, message, location }) => `${ruleId} ${location[0]?.pointer}: ${message}`);
}

describe('the document', () => {
  test('is valid OpenAPI 3.1, its examples and references too', async () => {
    expect(await faultsOf(DOCUMENT)).toEqual([]);
  });

  test('would not be with a schema that is none, and an example that its schema does not allow', async () => {
    const { components, paths, ...document } = DOCUMENT as unknown as {
      components: { schemas: Record<string, object> };
      paths: Record<string, object>;
    };
    const { Monitor, Me } = components.schemas;
    const schemas = {
      ...components.schemas,
      Monitor: { ...Monitor, type: 'thing' },
      Me: { ...Me, required: ['nothing'] },
    };
    const me = '/api/dashboard/me';
    const faults = await faultsOf({
      ...document,
      paths: { [me]: paths[me] },
      components: { ...components, schemas },
    });
    expect(faults.join('\n')).toMatch(/^struct #\/components\/schemas\/Monitor\/type/m);
    expect(faults.join('\n')).toMatch(/^no-invalid-media-type-examples #\/paths\/~1api~1dashboard~1me/m);
  });

  test('has every route, and none else', () => {
    const { identity } = api.context;
    const routes = listRoutes({ ...api.context, identity: { ...identity, hasSingleSignOn: true } });
    const written = Object.entries(DOCUMENT.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`),
    );
    expect(written.sort()).toEqual(routes.sort());
  });

  test('has every kind of webhook', () => {
    expect(Object.keys(DOCUMENT['webhooks'] as object)).toEqual([...WEBHOOK_EVENTS]);
  });
});

describe('GET /api/cli/openapi.json', () => {
  test('needs no authentication, and supports If-None-Match', async () => {
    const response = await api.as(null).get(PATH);
    expect([response.status, response.type]).toEqual([200, 'application/json']);
    expect(response.headers).toMatchObject({ 'cache-control': 'no-cache', 'content-encoding': 'gzip' });
    expect(response.body).toEqual({ ...DOCUMENT, servers: [{ url: ORIGIN }] });
    const plain = await api.as(null).get(PATH).set('Accept-Encoding', 'identity');
    expect([plain.headers['content-encoding'], plain.body]).toEqual([undefined, response.body]);
    const { etag = '' } = response.headers as { etag?: string };
    const again = await api.as(null).get(PATH).set('If-None-Match', etag);
    expect([again.status, again.text, again.headers['etag']]).toEqual([304, '', etag]);
    expect((await api.as(null).get(PATH).set('If-None-Match', 'W/"other"')).status).toBe(200);
  });

  test('takes nothing else', async () => {
    const response = await api.as(null).post(PATH).send({});
    expect([response.status, response.headers['allow']]).toEqual([405, 'GET, HEAD']);
  });
});

test('GET /schemas/tocsin.json shows anybody what a file of monitors may hold', async () => {
  const response = await api.as(null).get('/schemas/tocsin.json');
  expect([response.status, response.type]).toEqual([200, 'application/json']);
  expect(response.body).toEqual(JSON.parse(JSON.stringify(monitorFileJsonSchema())));
  const { etag = '' } = response.headers as { etag?: string };
  expect((await api.as(null).get('/schemas/tocsin.json').set('If-None-Match', etag)).status).toBe(304);
});
