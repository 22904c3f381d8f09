import { describe, expect, test } from '@jest/globals';
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

const ask = (load: ServerLoad, count: number): unknown[] =>
  Array.from({ length: count }, () => load.newNames.acquire('one'));

test('bad responses to one account count if it waits for permits', () => {
  const load = new ServerLoad(() => now);
  ask(load, 1_000);
  expect(sample(load, [BAD, ['two', 'good'], ['three', 'good']])).toBe(true);
});

describe('the limit', () => {
  const used = (load: ServerLoad, responses: number): number => {
    for (let count = 0; count < responses; count += 1) load.note('one', 'good', BUSY);
    return load.newNames.used;
  };

  test('doubles with each round trip until a server refuses or is late', () => {
    const load = new ServerLoad(() => now);
    ask(load, 1_000);
    expect([used(load, 0), used(load, 50), used(load, 100)]).toEqual([50, 100, 200]);
    load.note('one', 'bad', BUSY);
    expect(used(load, 100)).toBe(200);
  });

  test('stays while no lookup waits', () => {
    const load = new ServerLoad(() => now);
    ask(load, 50);
    used(load, 50);
    ask(load, 50);
    expect(used(load, 0)).toBe(50);
  });

  test('rises slowly, and not above about 250 while the waiting account gets no response', () => {
    const load = new ServerLoad(() => now);
    ask(load, 1_000);
    for (let count = 0; count < 30; count += 1) sample(load, [['two', 'good']]);
    expect(load.newNames.used).toBe(273);
  });

  test('is unproven for two seconds after it was raised', () => {
    const load = new ServerLoad(() => now);
    ask(load, 51);
    used(load, 1);
    expect(load.isOverloaded).toBe(true);
    now += 2_000;
    expect(load.isOverloaded).toBe(false);
  });
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
