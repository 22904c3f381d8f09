import { expect, test } from '@jest/globals';
import { createMonitorSchema } from '@tocsin/contracts/monitors/monitor';
import * as fc from 'fast-check';
import { z } from 'zod';
import { Tally } from './tally.ts';
import { validValuesOf, valuesOf } from './schema-values.ts';
import type { WireResponse } from './send.ts';
import { checkResponse } from './responses.ts';

const ROUTE = { status: 200, response: z.strictObject({ a: z.number() }) };
const TYPE = 'urn:tocsin:problem:conflict';
const PROBLEM = { type: TYPE, title: 'Conflict', status: 409, detail: 'No.', instance: 'r' };
const HTML = { 'content-type': 'text/html' };

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
  ['status 500', response(500, PROBLEM)],
  ['without X-Request-Id', response(200, { a: 1 }, { 'x-request-id': undefined })],
  ['status 202, not 200', response(202, { a: 1 })],
  ['a success that does not match its schema', response(200, { a: 1, b: 2 })],
  ['not JSON', response(200, '<html>')],
  ['success of type text/html', response(200, { a: 1 }, HTML)],
  ['an error of type text/html', response(409, PROBLEM, HTML)],
  ['an error that does not match its schema', response(409, { error: 'no' })],
  ['a problem of status 409 in a 404', response(404, PROBLEM)],
  ['names another request', response(409, { ...PROBLEM, instance: 'x' })],
  ['unknown type: urn:x', response(409, { ...PROBLEM, type: 'urn:x' })],
  [
    'without Allow',
    response(405, { ...PROBLEM, status: 405, type: 'urn:tocsin:problem:method-not-allowed' }),
  ],
])('a response fails: %s', (message, given) => {
  expect(() => checkResponse(ROUTE, given, false)).toThrow(message);
});

test('a route that refuses every request is reported', () => {
  const tally = new Tally();
  for (let time = 0; time < 100; time += 1) {
    tally.addPossible('POST /refuses', false);
    tally.addPossible('POST /works', time === 99);
    if (time < 10) tally.addPossible('POST /seldom', false);
  }
  expect(tally.neverSucceeded()).toEqual([expect.stringMatching(/^POST \/refuses refused all 100 requests/)]);
});

test('the schema accepts every valid value, and refuses many of the others', () => {
  const accepted = (values: fc.Arbitrary<unknown>): number => {
    const sample = fc.sample(values, { numRuns: 200, seed: 1 });
    return sample.filter((value) => createMonitorSchema.safeParse(value).success).length;
  };
  expect(accepted(validValuesOf(createMonitorSchema))).toBe(200);
  expect(accepted(valuesOf(createMonitorSchema))).toBeLessThan(100);
});
