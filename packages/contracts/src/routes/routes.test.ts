import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { errorsOf, methodOf, pathOf } from './route.ts';
import { API_ROUTES, AUTH_ROUTES, byEndpoint } from './routes.ts';

const routes = byEndpoint({ ...API_ROUTES, ...AUTH_ROUTES });

test('every route has its own endpoint', () => {
  expect(Object.keys(routes)).toHaveLength(Object.keys({ ...API_ROUTES, ...AUTH_ROUTES }).length);
});

test.each(Object.entries(routes))(
  '%s: examples match their schemas, and the parameters of the path are declared',
  (_endpoint, route) => {
    const { body, bodyExample, response, responseExample, resource, path } = route;
    if (bodyExample !== undefined) expect(body?.safeParse(bodyExample).error).toBeUndefined();
    if (responseExample !== undefined && response instanceof z.ZodType) {
      expect(response.safeParse(responseExample).error).toBeUndefined();
    }
    const declared = [...(resource === undefined ? [] : ['id']), ...Object.keys(path?.shape ?? {})];
    expect(declared).toEqual([...pathOf(route).matchAll(/:(\w+)/g)].map(([, name]) => name));
  },
);

test('a route that writes declares a body, even without fields, so that its errors are complete', () => {
  const undeclared = Object.values(API_ROUTES).filter(
    (route) => !['GET', 'DELETE'].includes(methodOf(route)) && !('body' in route),
  );
  expect(undeclared).toEqual([]);
});

describe('the errors of a route', () => {
  const errors = (endpoint: string): readonly string[] => {
    const route = routes[endpoint];
    if (route === undefined) throw new Error(`no such route: ${endpoint}`);
    return errorsOf(route);
  };

  test('follow from its access, its schemas and its own list, in the order of the checks', () => {
    expect(errors('PUT /api/cli/monitors/:id')).toEqual([
      'unauthorized',
      'rate_limited',
      'body_too_large',
      'unsupported_media_type',
      'malformed_body',
      'forbidden',
      'not_found',
      'validation_failed',
      'source_not_allowed',
      'precondition_failed',
      'conflict',
      'quota_exceeded',
      'internal',
      'unavailable',
    ]);
    expect(errors('GET /api/dashboard/users')).toEqual([
      'not_signed_in',
      'rate_limited',
      'account_required',
      'owner_required',
      'not_found',
      'validation_failed',
      'internal',
      'unavailable',
    ]);
    expect(errors('GET /healthz')).toEqual(['internal']);
  });

  test.each(['forbidden', 'source_not_allowed'])('include %s only if a key may write', (code) => {
    expect(errors('POST /api/cli/monitors/:id/trigger')).toContain(code);
    expect(errors('POST /api/dashboard/monitors/:id/trigger')).not.toContain(code);
    expect(errors('GET /api/cli/monitors')).not.toContain(code);
    expect(errors('POST /api/dashboard/monitors/:id/trigger')).toContain('untrusted_origin');
  });
});
