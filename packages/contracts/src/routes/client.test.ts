import { expect, test } from '@jest/globals';
import type { Channel } from '../channels/channel.ts';
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
  await client('PUT /api/dashboard/monitors/:id', {
    id: '1',
    body: { interval: 30 },
    headers: { 'If-Match': '"1"' },
  });
  await client('GET /api/dashboard/me');
  await client('POST /api/dashboard/channels/:id/test', { id: '1' });
  expect(sent).toEqual([
    {
      method: 'GET',
      path: '/api/dashboard/channels/a%2Fb/deliveries?state=failed&limit=5',
      body: undefined,
      headers: {},
      signal,
    },
    {
      method: 'PUT',
      path: '/api/dashboard/monitors/1',
      body: { interval: 30 },
      headers: { 'If-Match': '"1"' },
      signal: undefined,
    },
    { method: 'GET', path: '/api/dashboard/me', body: undefined, headers: {}, signal: undefined },
    {
      method: 'POST',
      path: '/api/dashboard/channels/1/test',
      body: undefined,
      headers: {},
      signal: undefined,
    },
  ]);
});

/** Never called: the compiler checks it. */
export async function checkTypes(): Promise<Channel> {
  // @ts-expect-error: no such route
  await client('GET /api/dashboard/nothing');
  // @ts-expect-error: the id is missing
  await client('GET /api/dashboard/channels/:id');
  // @ts-expect-error: the body is missing
  await client('POST /api/dashboard/channels');
  // @ts-expect-error: a field has the wrong type
  await client('PATCH /api/dashboard/channels/:id', { id: '1', body: { enabled: 'yes' } });
  const { channel } = await client('GET /api/dashboard/channels/:id', { id: '1' });
  return channel;
}
