import type { IncomingMessage } from 'node:http';
import { expect, test } from '@jest/globals';
import type { Route } from '@tocsin/contracts/routes/route';
import { API_ROUTES, byEndpoint } from '@tocsin/contracts/routes/routes';
import type supertest from 'supertest';
import { z } from 'zod';
import { ACCESS_ROWS, type AccessRow, makeResource } from '../testing/access-rows.ts';
import { signIn } from '../testing/sign-in.ts';
import { useTestApi } from '../testing/test-api.ts';

const api = await useTestApi();
const owner = await signIn(api);

const [EARLIEST, AFTER_IT] = ['0001-01-01T00:00:00.000Z', '0001-01-02T00:00:00.000Z'];
const [BEFORE_LATEST, LATEST] = ['9999-12-30T23:59:59.999Z', '9999-12-31T23:59:59.999Z'];
/** Values of the first and the second timestamp of a request. */
const EXTREMES = [
  [EARLIEST, AFTER_IT],
  [EARLIEST, LATEST],
  [BEFORE_LATEST, LATEST],
  [LATEST, EARLIEST],
  [LATEST, LATEST],
] as const;

type Part = 'path' | 'query' | 'headers' | 'body';

/** The names of the timestamps in a part of a request. */
function timestampsOf(route: Route, part: Part): string[] {
  const schema = route[part];
  if (!(schema instanceof z.ZodType)) return [];
  const { properties = {} } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return Object.entries(properties).flatMap(([name, property]) =>
    typeof property === 'object' && property.format === 'date-time' ? name : [],
  );
}

function send(endpoint: string, { isEndless }: AccessRow, id: string, given: Record<Part, object>) {
  const [method = '', pattern = ''] = endpoint.split(' ');
  const path = Object.entries({ id, ...given.path }).reduce(
    (filled, [name, value]) => filled.replace(`:${name}`, value),
    pattern,
  );
  const agent = pattern.startsWith('/api/cli') ? api.as() : owner;
  const request = agent[method.toLowerCase() as 'get' | 'post' | 'patch'](path);
  void request.query(given.query).set(given.headers as Record<string, string>);
  if (isEndless) return request.buffer(true).parse(closeAtOnce);
  return method === 'GET' ? request : request.send(given.body);
}

/** Reads an error, or closes a stream at once. */
function closeAtOnce(response: supertest.Response, done: (error: null, body: string) => void): void {
  const incoming = response as unknown as IncomingMessage & { text: string };
  incoming.text = '';
  incoming.setEncoding('utf8').on('data', (text: string) => (incoming.text += text));
  incoming.once('end', () => done(null, incoming.text));
  if (incoming.statusCode !== 200) return;
  done(null, '');
  incoming.destroy();
}

const CASES = Object.entries(byEndpoint(API_ROUTES)).flatMap(([endpoint, route]) =>
  (['path', 'query', 'headers', 'body'] as const).flatMap((part) => {
    const names = timestampsOf(route, part);
    return names.length === 0 ? [] : [{ endpoint, part, names }];
  }),
);

test.each(CASES)('$endpoint never fails for a timestamp at the extremes in its $part', async (each) => {
  const { endpoint, part, names } = each;
  const row = ACCESS_ROWS[endpoint];
  if (row === undefined) throw new Error(`no access row: ${endpoint}`);
  const resource = await makeResource(api, owner, row.kind);
  const received: Record<string, number> = {};
  for (const values of EXTREMES) {
    const timestamps = Object.fromEntries(names.map((name, index) => [name, values[index]]));
    const bodies = [{}, { rrule: 'FREQ=DAILY' }, { endsAt: undefined, durationSeconds: 86_400 }];
    for (const body of part === 'body' && names.includes('startsAt') ? bodies : [{}]) {
      const given = { path: {}, query: {}, headers: {}, body: { ...row.body?.(resource) } };
      given[part] = { ...given[part], ...timestamps, ...body };
      const { status } = await send(endpoint, row, resource.id, given);
      received[JSON.stringify([timestamps, body])] = status;
    }
  }
  expect(Object.entries(received).filter(([, status]) => status >= 500)).toEqual([]);
});
