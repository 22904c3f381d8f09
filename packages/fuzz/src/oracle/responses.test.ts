import { expect, test } from '@jest/globals';
import { z } from 'zod';
import type { Route } from '../requests/routes.ts';
import type { Answer } from '../wire/send.ts';
import { judgeAnswer } from './responses.ts';

const ROUTE: Route = { access: 'key', status: 200, response: z.strictObject({ a: z.number() }) };
const PROBLEM = {
  type: 'urn:tocsin:problem:conflict',
  title: 'Conflict',
  status: 409,
  detail: 'No.',
  instance: 'r',
};

function answer(status: number, body: unknown, headers: Answer['headers'] = {}): Answer {
  const type = status < 400 ? 'application/json' : 'application/problem+json';
  return {
    status,
    headers: { 'x-request-id': 'r', 'content-type': `${type}; charset=utf-8`, ...headers },
    text: typeof body === 'string' ? body : JSON.stringify(body),
    durationMs: 1,
  };
}

test('what is right is right', () => {
  expect(judgeAnswer(ROUTE, answer(200, { a: 1 }), false)).toEqual({ a: 1 });
  expect(judgeAnswer(ROUTE, answer(409, PROBLEM), false)).toEqual(PROBLEM);
  expect(judgeAnswer(ROUTE, answer(200, ''), true)).toBeUndefined();
});

test.each([
  ['a 5xx', answer(500, PROBLEM), 'answered 500'],
  ['no request id', answer(200, { a: 1 }, { 'x-request-id': undefined }), 'without X-Request-Id'],
  ['another success', answer(202, { a: 1 }), 'answered 202, not 200'],
  ['a field too many', answer(200, { a: 1, b: 2 }), 'a success against its schema'],
  ['no JSON', answer(200, '<html>'), 'no JSON'],
  [
    'a success of another type',
    answer(200, { a: 1 }, { 'content-type': 'text/html' }),
    'success of type text/html',
  ],
  [
    'an error of another type',
    answer(409, PROBLEM, { 'content-type': 'text/html' }),
    'an error of type text/html',
  ],
  ['an error that is no problem', answer(409, { error: 'no' }), 'an error against its schema'],
  ['a problem of another status', answer(404, PROBLEM), 'a problem of status 409 in a 404'],
  ['a problem of another request', answer(409, { ...PROBLEM, instance: 'x' }), 'names another request'],
  ['a problem nobody knows', answer(409, { ...PROBLEM, type: 'urn:x' }), 'unknown type: urn:x'],
  [
    'a 405 without Allow',
    answer(405, { ...PROBLEM, status: 405, type: 'urn:tocsin:problem:method-not-allowed' }),
    'without Allow',
  ],
])('%s is not', (_, given, message) => {
  expect(() => judgeAnswer(ROUTE, given, false)).toThrow(message);
});
