import { beforeEach, expect, test } from '@jest/globals';
import type { LookupAddress } from 'node:dns';
import type { LookupAll } from './guarded-lookup.ts';
import { createSharedLookup } from './shared-lookup.ts';

const ADDRESS: LookupAddress = { address: '192.0.2.1', family: 4 };
const MOST_SLOW = 2;

/** Lookups under way, in the order in which they began; each ends when the test says so. */
let underway: { readonly hostname: string; end(error?: NodeJS.ErrnoException): void }[];
let clock: number;
let lookup: LookupAll;
/** What was answered, in its order: the name, or the code of the error. */
let answered: string[];
beforeEach(() => {
  underway = [];
  answered = [];
  clock = 0;
  lookup = createSharedLookup({
    mostSlow: MOST_SLOW,
    now: () => clock,
    lookup: (hostname, _options, callback) => {
      const one = {
        hostname,
        end: (error: NodeJS.ErrnoException | null = null) => {
          underway = underway.filter((other) => other !== one);
          callback(error, error ? [] : [ADDRESS]);
        },
      };
      underway.push(one);
    },
  });
});

function ask(hostname: string): void {
  lookup(hostname, { all: true }, (error, [address]) =>
    answered.push(error?.code ?? `${hostname} ${address?.address}`),
  );
}

const names = (): string[] => underway.map(({ hostname }) => hostname);

/** Makes these known as slow: their lookups hang for five seconds and fail. */
function makeSlow(...hostnames: string[]): void {
  for (const hostname of hostnames) ask(hostname);
  clock += 5_000;
  for (const one of underway.splice(0)) one.end(Object.assign(new Error('no answer'), { code: 'EAI_AGAIN' }));
  answered = [];
}

test('a name is looked up once for all who ask meanwhile, and anew for who asks later', () => {
  for (let count = 0; count < 3; count += 1) ask('shop.example');
  lookup('shop.example', { all: true, family: 6 }, () => answered.push('over IPv6'));
  expect(names()).toEqual(['shop.example', 'shop.example']);
  for (const one of underway.splice(0)) one.end();
  expect(answered).toEqual([...Array<string>(3).fill('shop.example 192.0.2.1'), 'over IPv6']);
  ask('shop.example');
  expect(names()).toEqual(['shop.example']);
});

test('names that hang have a share of their own, and hold up no other', () => {
  const dead = ['a.dead', 'b.dead', 'c.dead', 'd.dead'];
  makeSlow(...dead);
  for (const name of [...dead, ...dead]) ask(name);
  ask('shop.example');
  expect(names()).toEqual(['a.dead', 'b.dead', 'shop.example']);
  underway[2]?.end();
  expect(answered).toEqual(['shop.example 192.0.2.1']);
  underway[0]?.end();
  expect(answered.slice(1)).toEqual(['a.dead 192.0.2.1', 'a.dead 192.0.2.1']);
  expect(names()).toEqual(['b.dead', 'c.dead']);
});

test('a lookup that begins to hang counts as one of a slow name', () => {
  makeSlow('a.dead');
  ask('new-1.dead');
  ask('new-2.dead');
  clock += 2_000;
  ask('a.dead');
  expect(names()).toEqual(['new-1.dead', 'new-2.dead']);
  underway[0]?.end();
  expect(names()).toEqual(['new-2.dead', 'a.dead']);
});

test('a name that is fast again is one as the others', () => {
  makeSlow('back.example', 'b.dead', 'c.dead');
  ask('back.example');
  underway[0]?.end();
  for (const name of ['b.dead', 'c.dead', 'back.example']) ask(name);
  expect(names()).toEqual(['b.dead', 'c.dead', 'back.example']);
});

test('a slow name whose turn does not come fails as one without an answer', () => {
  makeSlow('a.dead', 'b.dead', 'c.dead');
  for (const name of ['a.dead', 'b.dead', 'c.dead']) ask(name);
  clock += 11_000;
  underway[0]?.end(Object.assign(new Error('no answer'), { code: 'ENOTFOUND' }));
  expect(answered).toEqual(['ENOTFOUND', 'EAI_AGAIN']);
  ask('c.dead');
  clock += 1;
  underway[0]?.end();
  expect(names()).toEqual(['c.dead']);
});
