import { expect, test } from '@jest/globals';
import type { CheckRecord } from '@tocsin/db/checks/check-record';
import { createResponseSealer } from './seal-response.ts';

const encrypt = (text: string): string => `sealed ${text}`;

function checkWith(body: string | null, monitorId = 'm', region = 'eu'): CheckRecord {
  const response = body === null ? null : () => ({ headers: {}, body });
  return { monitorId, region, response } as CheckRecord;
}

test('a region of a monitor keeps one response a minute', () => {
  let now = 0;
  const seal = createResponseSealer({ encrypt }, () => now);
  expect(seal(checkWith('first'))).toBe('sealed {"headers":{},"body":"first"}');
  expect(seal(checkWith('second'))).toBeNull();
  expect(seal(checkWith('other region', 'm', 'us'))).not.toBeNull();
  expect(seal(checkWith('other monitor', 'n'))).not.toBeNull();
  now = 59_999;
  expect(seal(checkWith('too soon'))).toBeNull();
  now = 60_000;
  expect(seal(checkWith('next'))).not.toBeNull();
});

test('a check without a response has none, and does not use up the minute', () => {
  const seal = createResponseSealer({ encrypt });
  expect(seal(checkWith(null))).toBeNull();
  expect(seal(checkWith('first'))).not.toBeNull();
});

test('a check that is recorded again, after a failed transaction, keeps its response', () => {
  const seal = createResponseSealer({ encrypt });
  const check = checkWith('first');
  expect(seal(check)).toBe(seal(check));
  expect(seal(check)).not.toBeNull();
});
