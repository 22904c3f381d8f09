import { describe, expect, test } from '@jest/globals';
import { EVENT, MONITOR } from '@tocsin/contracts/routes/examples';
import { buildDocument } from '../openapi/document.ts';
import { DocumentValidator, type Exchange } from './document-validator.ts';
import { signIn } from './sign-in.ts';
import { openTestApi } from './test-api.ts';

describe('contradictions between the document and', () => {
  const MONITORS = '/api/cli/monitors';
  const good: Exchange = {
    method: 'GET',
    path: `${MONITORS}/${MONITOR.id}?a=b`,
    status: 200,
    headers: { 'x-request-id': 'r', etag: '"v"', 'content-type': 'application/json; charset=utf-8' },
    text: JSON.stringify({ monitor: MONITOR, events: [EVENT] }),
  };
  const validator = new DocumentValidator(buildDocument('https://tocsin.example'));
  const withBody = (value: object): Pick<Exchange, 'text'> => ({ text: JSON.stringify(value) });
  const changed = (fields: object): Pick<Exchange, 'text'> =>
    withBody({ monitor: { ...MONITOR, ...fields }, events: [] });
  const created = {
    method: 'POST',
    path: MONITORS,
    status: 201,
    headers: { ...good.headers, location: '/a' },
    sent: { name: 'a', url: 'https://a.example' },
    ...withBody({ monitor: MONITOR }),
  };

  test('accepts a valid exchange', () => {
    validator.validate(good);
    validator.validate({ ...good, method: 'HEAD', text: '' });
    validator.validate({ ...good, ...created });
    validator.validate({ ...good, path: '/page', status: 299 });
  });

  test.each<[what: string, exchange: Partial<Exchange>, message: string]>([
    ['a route', { path: '/api/cli/nothing' }, 'does not declare that route'],
    ['a method', { method: 'PATCH' }, 'does not declare that route'],
    ['a status', { status: 418 }, 'does not declare that status'],
    ['an unknown field', changed({ more: 1 }), 'must NOT have additional properties'],
    ['a missing field', changed({ name: undefined }), "must have required property 'name'"],
    ['a timestamp', changed({ createdAt: '2026-11-20T12:00:00Z' }), 'must match format "date-time"'],
    ['an id', changed({ id: MONITOR.id.toUpperCase() }), 'must match format "uuid"'],
    ['a type', { headers: { ...good.headers, 'content-type': 'text/html' } }, 'not text/html'],
    ['a header', { headers: { 'content-type': 'application/json' } }, 'requires X-Request-Id'],
    ['a missing Location', { ...created, headers: good.headers }, 'requires Location'],
    ['a body', { method: 'DELETE', status: 204 }, 'has no body there'],
    [
      'a problem',
      { status: 404, headers: { ...good.headers, 'content-type': 'application/problem+json' } },
      'does not allow body',
    ],
    ['a request', { ...created, sent: { name: 'a' } }, "must have required property 'url'"],
    ['a missing body', { ...created, sent: undefined }, 'requires a body'],
    [
      'a parameter',
      { path: `${MONITORS}/${MONITOR.id}/events?limit=0`, ...withBody({ events: [] }) },
      'does not allow limit',
    ],
  ])('%s', (_, exchange, message) => {
    expect(() => validator.validate({ ...good, ...exchange })).toThrow(message);
  });
});

test('an invalid response fails the test that requested it', async () => {
  const wrong = { workers: -1, waiting: 0, lagMs: 0 };
  const regionLoads = { read: () => Promise.resolve(new Map([['default', wrong]])) };
  const api = await openTestApi({ regionLoads });
  try {
    const owner = await signIn(api);
    await expect(owner.get('/api/dashboard/regions')).rejects.toThrow('/regions/0/workers must be >= 0');
    await expect(owner.get('/api/dashboard/me')).resolves.toMatchObject({ status: 200 });
  } finally {
    await api.close();
  }
});
