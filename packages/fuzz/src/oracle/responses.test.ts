import { expect, test } from '@jest/globals';
import { z } from 'zod';
import type { WireResponse } from '../wire/send.ts';
import { checkResponse } from './responses.ts';

const ROUTE = { status: 200, response: z.strictObject({ a: z.number() }) };
const PROBLEM = {
  type: 'urn:tocsin:problem:conflict',
  title: 'Conflict',
  status: 409,
  detail: 'No.',
  instance: 'r',
};

function response(status: number, body: unknown, headers: WireResponse['headers'] = {}): WireResponse {
  const type = status < 400 ? 'application/json' : 'application/problem+json';
  return {
    status,
    headers: { 'x-request-id': 'r', 'content-type': `${type}; charset=utf-8`, ...headers },
    text: typeof body === 'string' ? body : JSON.stringify(body),
    durationMs: 1,
  };
}

test('valid responses pass, and their bodies are returned', () => {
  expect(checkResponse(ROUTE, response(200, { a: 1 }), false)).toEqual({ a: 1 });
  expect(checkResponse(ROUTE, response(409, PROBLEM), false)).toEqual(PROBLEM);
  expect(checkResponse(ROUTE, response(200, ''), true)).toBeUndefined();
});

test.each([
  ['a 5xx', response(500, PROBLEM), 'status 500'],
  ['no request id', response(200, { a: 1 }, { 'x-request-id': undefined }), 'without X-Request-Id'],
  ['another status of success', response(202, { a: 1 }), 'status 202, not 200'],
  ['an unknown field', response(200, { a: 1, b: 2 }), 'a success that does not match its schema'],
  ['a body that is not JSON', response(200, '<html>'), 'not JSON'],
  [
    'a success of another type',
    response(200, { a: 1 }, { 'content-type': 'text/html' }),
    'success of type text/html',
  ],
  [
    'an error of another type',
    response(409, PROBLEM, { 'content-type': 'text/html' }),
    'an error of type text/html',
  ],
  [
    'an error that is not a problem document',
    response(409, { error: 'no' }),
    'an error that does not match its schema',
  ],
  ['a problem of another status', response(404, PROBLEM), 'a problem of status 409 in a 404'],
  ['a problem of another request', response(409, { ...PROBLEM, instance: 'x' }), 'names another request'],
  ['a problem of an unknown type', response(409, { ...PROBLEM, type: 'urn:x' }), 'unknown type: urn:x'],
  [
    'a 405 without Allow',
    response(405, { ...PROBLEM, status: 405, type: 'urn:tocsin:problem:method-not-allowed' }),
    'without Allow',
  ],
])('%s fails', (_, given, message) => {
  expect(() => checkResponse(ROUTE, given, false)).toThrow(message);
});
