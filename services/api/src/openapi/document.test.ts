import { describe, expect, jest, test } from '@jest/globals';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { monitorFileJsonSchema } from '@tocsin/contracts/monitor-sets/monitor-file';
import { WEBHOOK_EVENTS } from '@tocsin/contracts/vocabulary';
import { listRoutes } from '../testing/list-routes.ts';
import { signIn } from '../testing/sign-in.ts';
import { ORIGIN, useTestApi } from '../testing/test-api.ts';
import { buildDocument } from './document.ts';

const PATH = '/api/cli/openapi.json';
const PUBLIC_URL = 'https://tocsin.example';
const DOCUMENT = buildDocument(PUBLIC_URL);

const api = await useTestApi();

describe('the OpenAPI document', () => {
  test('is valid OpenAPI 3.1, including its examples and references', async () => {
    const config = await createConfig({
      extends: ['recommended-strict'],
      rules: {
        // Some public routes cannot fail, and single sign-on responds with a redirect.
        'operation-4xx-response': 'off',
        'operation-2xx-response': 'off',
        // `by-external-id` takes precedence over an id, which is a UUID.
        'no-ambiguous-paths': 'off',
        // The linter does not read the extension with the messages of the live stream.
        'no-unused-components': 'off',
        'operation-description': 'error',
        'info-contact': 'error',
      },
    });
    const source = JSON.stringify(DOCUMENT);
    const problems = await lintFromString({ source, absoluteRef: `${PUBLIC_URL}/openapi.json`, config });
    const lines = problems.map(({ ruleId, message, location }) => [ruleId, location[0]?.pointer, message]);
    expect(lines).toEqual([]);
  });

  test('gives a type to every field and list entry (zod writes {} for unsupported schemas)', () => {
    const meaningful = ['type', '$ref', 'anyOf', 'oneOf', 'allOf', 'enum', 'const'];
    const meaningless: string[] = [];
    const visit = (value: unknown, path: string): void => {
      if (typeof value !== 'object' || value === null) return;
      const { properties = {}, items } = value as { properties?: object; items?: object };
      for (const [name, part] of Object.entries({ ...properties, ...(items && { '[]': items }) })) {
        if (!meaningful.some((key) => key in part)) meaningless.push(`${path}.${name}`);
      }
      for (const [key, part] of Object.entries(value)) visit(part, `${path}.${key}`);
    };
    visit({ paths: DOCUMENT.paths, components: DOCUMENT['components'] }, '');
    // Changed fields and expected values are any JSON value.
    const anyJson = [
      'AuditChange.from',
      'AuditChange.to',
      'JsonCondition.equals',
      'JsonConditionInput.equals',
    ];
    expect(meaningless).toEqual(anyJson.map((name) => `.components.schemas.${name}`));
  });

  test('has every route and no other', () => {
    const { identity } = api.context;
    const routes = listRoutes({ ...api.context, identity: { ...identity, hasSingleSignOn: true } });
    const written = Object.entries(DOCUMENT.paths).flatMap(([path, methods]) =>
      Object.entries(methods as Record<string, { operationId: string }>)
        .filter(([, { operationId }]) => !operationId.endsWith('WithPATCH'))
        .map(([method]) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`),
    );
    expect(written.sort()).toEqual(routes.sort());
  });

  test('has every kind of webhook', () => {
    expect(Object.keys(DOCUMENT['webhooks'] as object)).toEqual([...WEBHOOK_EVENTS]);
  });
});

test('GET /api/cli/openapi.json needs no authentication, and supports If-None-Match', async () => {
  const response = await api.as(null).get(PATH);
  expect([response.status, response.type]).toEqual([200, 'application/json']);
  expect(response.headers).toMatchObject({ 'cache-control': 'no-cache', 'content-encoding': 'gzip' });
  expect(response.body).toEqual(buildDocument(ORIGIN));
  const plain = await api.as(null).get(PATH).set('Accept-Encoding', 'identity');
  expect([plain.headers['content-encoding'], plain.body]).toEqual([undefined, response.body]);
  const { etag = '' } = response.headers as { etag?: string };
  const again = await api.as(null).get(PATH).set('If-None-Match', etag);
  expect([again.status, again.text, again.headers['etag']]).toEqual([304, '', etag]);
  expect((await api.as(null).get(PATH).set('If-None-Match', 'W/"other"')).status).toBe(200);
});

test('GET /schemas/tocsin.json returns the schema of a monitor file without authentication', async () => {
  const response = await api.as(null).get('/schemas/tocsin.json');
  expect([response.status, response.type]).toEqual([200, 'application/json']);
  expect(response.body).toEqual(JSON.parse(JSON.stringify(monitorFileJsonSchema())));
});

test('a response that contradicts the document fails its test', async () => {
  const load = { workers: -1, waiting: 0, lagMs: 0 };
  const read = jest.spyOn(api.context.regionLoads, 'read').mockResolvedValue(new Map([['default', load]]));
  const owner = await signIn(api);
  await expect(owner.get('/api/dashboard/regions')).rejects.toThrow('/regions/0/workers must be >= 0');
  read.mockRestore();
});
