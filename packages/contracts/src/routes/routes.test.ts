import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { SIGN_IN_OPERATIONS, SINGLE_SIGN_ON_OPERATIONS } from '../identity/routes.ts';
import { errorsOf } from './route.ts';
import type { Operation } from './route.ts';
import { OPERATIONS } from './routes.ts';

const routes = Object.entries({ ...OPERATIONS, ...SIGN_IN_OPERATIONS, ...SINGLE_SIGN_ON_OPERATIONS });

test('no two operations have one name', () => {
  const ids = routes.map(([, { id }]) => id);
  expect(new Set(ids).size).toBe(ids.length);
});

test.each(routes)(
  '%s: its examples are what it takes and answers, and its path names what :id is',
  (route, operation) => {
    const { body, bodyExample, answer, answerExample, kind } = operation;
    if (bodyExample !== undefined) expect(body?.safeParse(bodyExample).error).toBeUndefined();
    if (answerExample !== undefined && answer instanceof z.ZodType) {
      expect(answer.safeParse(answerExample).error).toBeUndefined();
    }
    expect(kind !== undefined).toBe(route.includes('/:id'));
  },
);

test('a route that writes says what body it takes, if only none: so do its errors', () => {
  const silent = Object.entries(OPERATIONS).filter(
    ([route, { body }]) => !/^(GET|DELETE) /.test(route) && !body,
  );
  expect(silent).toEqual([]);
});

describe('the errors of a route', () => {
  const errors = (route: string): readonly string[] => errorsOf(route, OPERATIONS[route] as Operation);

  test('come from who may ask, what it takes, and itself, in the order in which they are judged', () => {
    expect(errors('PUT /api/cli/monitors/:id')).toEqual([
      'unauthorized',
      'rate_limited',
      'body_too_large',
      'unsupported_media_type',
      'malformed_body',
      'forbidden',
      'not_found',
      'validation_failed',
      'precondition_failed',
      'conflict',
      'internal',
      'unavailable',
    ]);
    expect(errors('GET /api/dashboard/users')).toEqual([
      'not_signed_in',
      'rate_limited',
      'owner_required',
      'internal',
      'unavailable',
    ]);
    expect(errors('GET /healthz')).toEqual(['internal']);
  });

  test('name the scope only where a key may lack it', () => {
    expect(errors('POST /api/cli/monitors/:id/trigger')).toContain('forbidden');
    expect(errors('POST /api/dashboard/monitors/:id/trigger')).not.toContain('forbidden');
    expect(errors('POST /api/dashboard/monitors/:id/trigger')).toContain('untrusted_origin');
  });
});
