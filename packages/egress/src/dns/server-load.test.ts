import { expect, test } from '@jest/globals';
import { ServerLoad } from './server-load.ts';

const BUSY = 50;
let now = 0;

/** Notes these responses in one sample. @returns whether an overload was found */
function sample(load: ServerLoad, responses: readonly (readonly [string, 'good' | 'bad'])[]): boolean {
  for (const [account, response] of responses) load.note(account, response, BUSY);
  now += 500;
  load.note('one', null, BUSY);
  return load.isOverloaded;
}

const GOOD = ['one', 'good'] as const;
const BAD = ['one', 'bad'] as const;
test.each([
  ['a fifth of the responses', [GOOD, GOOD, GOOD, GOOD, BAD], false],
  ['more than a fifth of the responses', [GOOD, GOOD, GOOD, BAD], true],
  ['one of two accounts', [BAD, ['two', 'good'] as const], false],
  ['two of three accounts', [BAD, ['two', 'bad'] as const, ['three', 'good'] as const], true],
])('bad responses to %s', (_, responses, isOverloaded) => {
  expect(sample(new ServerLoad(() => now), responses)).toBe(isOverloaded);
});

test('bad responses to few lookups say nothing about the load', () => {
  const load = new ServerLoad(() => now);
  load.note('one', 'bad', BUSY - 1);
  expect(sample(load, [])).toBe(false);
});

test('failures count again 15 s after the limit has reached its minimum', () => {
  const load = new ServerLoad(() => now);
  const until = now + 15_000 + 500;
  while (now <= until) sample(load, [BAD]);
  expect(load.isOverloaded).toBe(false);
});
