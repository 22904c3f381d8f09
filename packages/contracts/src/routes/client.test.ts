import { expect, test } from '@jest/globals';
import { type ClientRequest, createClient } from './client.ts';
import type { DashboardRoutes } from './routes.ts';

const sent: ClientRequest[] = [];
const client = createClient<DashboardRoutes>(async (request) => {
  sent.push(request);
  return undefined;
});

test('the client puts the id and the query into the path', async () => {
  const { signal } = new AbortController();
  await client('GET /api/dashboard/channels/:id/deliveries', {
    id: 'a/b',
    query: { state: 'failed', limit: '5', before: undefined },
    signal,
  });
  const [body, headers] = [{ interval: 30 }, { 'If-Match': '"1"' }];
  await client('PUT /api/dashboard/monitors/:id', { id: '1', body, headers });
  await client('POST /api/dashboard/channels/:id/test', { id: '1' });
  const request = { body: undefined, headers: {}, signal: undefined };
  expect(sent).toEqual([
    {
      ...request,
      method: 'GET',
      path: '/api/dashboard/channels/a%2Fb/deliveries?state=failed&limit=5',
      signal,
    },
    { ...request, method: 'PUT', path: '/api/dashboard/monitors/1', body, headers },
    { ...request, method: 'POST', path: '/api/dashboard/channels/1/test' },
  ]);
});
