import { expect, test } from '@jest/globals';
import { type CheckedResponse, evaluateResponse } from '@tocsin/core/checks/assertions';
import { monitorErrors } from '@tocsin/core/checks/monitor-errors';
import { assertionsOf } from '@tocsin-monitor/cli/import/gatus-conditions';

const BODY = JSON.stringify({
  status: 'UP',
  code: '200',
  count: 5,
  ok: true,
  none: null,
  list: [{ id: 1 }, 2, 3],
  'a-b': { name: 'john' },
});

function responseOf(body: string, statusCode = 200): CheckedResponse {
  return {
    statusCode,
    headers: {},
    body,
    latencyMs: 100,
    certificateExpiresAt: null,
    now: new Date(0),
    redact: (text) => text,
    showHeader: (_, value) => value,
  };
}

test.each<[condition: string, passes: boolean, body?: string]>([
  ['[STATUS] == any(200, 204)', true],
  ['[STATUS] != pat(2*)', false],
  ['[RESPONSE_TIME] < 100', false],
  ['[RESPONSE_TIME] <= 100', true],
  ['[BODY].status == UP', true],
  ['[BODY].status == up', false],
  ['[BODY].status != DOWN', true],
  ['[BODY].status != any(UP, OK)', false],
  ['[BODY].code == 200', true],
  ['[BODY].count == 5', true],
  ['[BODY].count == 55', false],
  ['[BODY].count >= 5', true],
  ['[BODY].count > 5', false],
  ['[BODY].count != 5', false],
  ['[BODY].ok == true', true],
  ['[BODY].list[0].id == 1', true],
  ['[BODY].list[9].id == 1', false],
  ['[BODY].a-b.name == pat(jo?n)', true],
  ['[BODY].a-b.name == pat(o*)', false],
  ['[BODY].a-b.name == any(jane, john)', true],
  ['has([BODY].ok) == true', true],
  ['has([BODY].none) == false', true],
  ['has([BODY].missing) == true', false],
  ['len([BODY].list) == 3', true],
  ['len([BODY].status) > 2', false],
  ['[BODY][1].id == 2', true, '[{"id":1},{"id":2}]'],
  ['[BODY] == pong', true, 'pong\n'],
  ['[BODY] == pong', false, 'ping pong'],
  ['[BODY] == pat(a*\nz)', true, ' a b\nz '],
  ['[BODY] == any(1.5, 2)', false, '105'],
  ['[BODY] > 122', true, '123'],
])('%s is %s', (condition, passes, body = BODY) => {
  const assertions = assertionsOf([condition], []);
  expect(monitorErrors({ method: 'GET', assertions, tls: null })).toEqual([]);
  expect(evaluateResponse(responseOf(body), assertions).status).toBe(passes ? 'UP' : 'DOWN');
});

test('without a condition about it, any status code passes', () => {
  expect(evaluateResponse(responseOf('', 503), assertionsOf([], [])).status).toBe('UP');
});
