import { beforeEach, expect, test } from '@jest/globals';
import { accountInPath, accountSlug, openAccount, slugInPath, withSlug } from './account-in-path.ts';

beforeEach(() => {
  const storage = { setItem: () => undefined };
  Object.assign(globalThis, { sessionStorage: storage, localStorage: storage });
  openAccount('shop');
});

test.each([
  ['/shop', 'shop'],
  ['/SHOP/monitors/new', 'shop'],
  ['/', null],
  ['/monitors/new', null],
  ['/sign-in', null],
  ['/operator/accounts', null],
])('the path %s has the slug %s', (path, slug) => {
  expect(slugInPath(path)).toBe(slug);
});

test.each([
  ['/', '/shop'],
  ['/?q=web', '/shop?q=web'],
  ['/monitors/new?from=1#top', '/shop/monitors/new?from=1#top'],
])('the page %s has the address %s', (page, address) => {
  expect(withSlug('shop', page)).toBe(address);
});

const ORIGIN = 'https://tocsin.example';
const input = (path: string): unknown => String(accountInPath.input?.({ url: new URL(path, ORIGIN) }));
const output = (path: string): unknown => String(accountInPath.output?.({ url: new URL(path, ORIGIN) }));

test('routes have paths without the slug of the open account', () => {
  expect(accountSlug()).toBe('shop');
  for (const page of ['/', '/?q=web', '/monitors/new']) {
    expect(output(page)).toBe(`${ORIGIN}${withSlug('shop', page)}`);
    for (const slug of ['shop', 'SHOP']) expect(input(withSlug(slug, page))).toBe(`${ORIGIN}${page}`);
  }
});

test('pages outside of accounts, and other accounts, keep their address', () => {
  for (const page of ['/sign-in?from=%2Fshop', '/operator/accounts', '/profile'])
    expect([output(page), input(page)]).toEqual([`${ORIGIN}${page}`, `${ORIGIN}${page}`]);
  expect(input('/shopping/monitors')).toBe(`${ORIGIN}/shopping/monitors`);
});
