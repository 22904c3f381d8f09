import { beforeEach, expect, test } from '@jest/globals';
import { KnownNames } from './known-names.ts';

const LIMIT = 200;
const HOUR_MS = 3_600_000;
const ADDRESSES = [{ address: '192.0.2.1', family: 4 }];

let clock: number;
let names: KnownNames;
beforeEach(() => {
  clock = 0;
  names = new KnownNames(() => clock, { given: LIMIT, redirected: LIMIT });
});

function noteMany(account: string, from: number, to: number, isRedirected = false): void {
  for (let index = from; index < to; index += 1)
    names.note(account, `${index}.example`, ADDRESSES, isRedirected);
}

function known(account: string, from: number, to: number): number {
  let count = 0;
  for (let index = from; index < to; index += 1)
    if (names.get(account, `${index}.example`) !== null) count += 1;
  return count;
}

test('a name is known to the account that looked it up until the name no longer exists', () => {
  names.note('one', 'shop.example', ADDRESSES, false);
  expect(names.get('one', 'shop.example')).toBe(ADDRESSES);
  expect(names.get('two', 'shop.example')).toBeNull();
  names.forget('one', 'shop.example');
  expect(names.get('one', 'shop.example')).toBeNull();
});

test('if more names than fit are looked up in turn, most of them stay known', () => {
  for (let round = 0; round < 2; round += 1) noteMany('one', 0, LIMIT + 10);
  expect(known('one', 0, LIMIT + 10)).toBe(LIMIT);
});

test("an account replaces no more than its share of other accounts' names", () => {
  noteMany('one', 0, 10);
  noteMany('two', 0, LIMIT + 10);
  expect(known('one', 0, 10)).toBe(10);
  noteMany('one', 0, LIMIT);
  expect([known('one', 0, LIMIT), known('two', 0, LIMIT)]).toEqual([LIMIT / 2, LIMIT / 2]);
});

test('names from targets do not replace names from accounts', () => {
  noteMany('one', 0, 10);
  for (let account = 0; account < 40; account += 1) noteMany(`${account}`, 100, 100 + LIMIT, true);
  noteMany('one', 100, 100 + LIMIT, true);
  expect(known('one', 0, 10)).toBe(10);
});

test('a name that is no longer looked up makes room for a new one', () => {
  noteMany('one', 0, LIMIT);
  clock = HOUR_MS - 1;
  names.note('one', 'early.example', ADDRESSES, false);
  expect(names.get('one', 'early.example')).toBeNull();
  clock = HOUR_MS;
  names.note('one', 'new.example', ADDRESSES, false);
  expect(names.get('one', 'new.example')).toBe(ADDRESSES);
  expect(known('one', 0, LIMIT)).toBe(LIMIT - 1);
});
