import { expect, test } from '@jest/globals';
import { listOperations, listWebhooks, searchOperations } from './list-operations.ts';
import type { OpenApi } from './open-api.ts';

const DOCUMENT: OpenApi = {
  info: { title: 'Tocsin', version: '1' },
  tags: [{ name: 'Monitors', description: 'What is checked.' }, { name: 'Unused' }],
  paths: {
    '/api/cli/monitors': {
      get: {
        operationId: 'listMonitors',
        summary: 'List monitors',
        tags: ['Monitors'],
        security: [{ key: [] }, { cookie: [] }],
        parameters: [{ $ref: '#/components/parameters/limit', name: '', in: '' }],
        responses: {
          '200': {
            description: 'All of them',
            content: { 'application/json': { schema: { type: 'object' } } },
          },
          '401': { $ref: '#/components/responses/problem', description: '' },
        },
      },
      post: {
        operationId: 'createMonitor',
        summary: 'Create a monitor',
        tags: ['Monitors'],
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { type: 'object' }, example: { name: 'Shop' } } },
        },
        responses: { '201': { description: 'Made' } },
      },
    },
    '/health': { get: { summary: 'Whether it lives' } },
  },
  webhooks: { 'monitor.down': { post: { operationId: 'monitorDown', summary: 'A monitor went down' } } },
  components: {
    parameters: { limit: { name: 'limit', in: 'query' } },
    responses: { problem: { description: 'No key' } },
    securitySchemes: { key: { type: 'http', scheme: 'bearer' }, cookie: { type: 'apiKey' } },
  },
};

test('operations stand under their tag in its order, those without one last', () => {
  expect(
    listOperations(DOCUMENT).map(({ name, operations }) => [name, operations.map(({ id }) => id)]),
  ).toEqual([
    ['Monitors', ['listMonitors', 'createMonitor']],
    ['Other', ['get-/health']],
  ]);
});

test('references are followed, and what a request must carry is named', () => {
  const [list] = listOperations(DOCUMENT)[0]?.operations ?? [];
  expect(list).toMatchObject({
    method: 'GET',
    path: '/api/cli/monitors',
    credentials: ['API key', 'session'],
    parameters: [{ name: 'limit', in: 'query' }],
    answers: [
      { status: '200', mediaType: 'application/json', schema: { type: 'object' } },
      { status: '401', description: 'No key', schema: null },
    ],
  });
});

test('a body has its example', () => {
  const [, create] = listOperations(DOCUMENT)[0]?.operations ?? [];
  expect(create?.body).toEqual({ required: true, schema: { type: 'object' }, example: { name: 'Shop' } });
});

test('webhooks are operations too', () => {
  expect(listWebhooks(DOCUMENT).map(({ id, path }) => [id, path])).toEqual([['monitorDown', 'monitor.down']]);
});

test.each([
  ['', ['listMonitors', 'createMonitor', 'get-/health']],
  ['POST monitors', ['createMonitor']],
  ['lives', ['get-/health']],
  ['nothing like it', []],
])('a search for %j finds %j', (query, ids) => {
  const found = searchOperations(listOperations(DOCUMENT), query);
  expect(found.flatMap(({ operations }) => operations.map(({ id }) => id))).toEqual(ids);
});
