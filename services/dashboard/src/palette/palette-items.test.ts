import { expect, test } from '@jest/globals';
import { findItems, findMonitors, type PaletteMonitor } from './palette-items.ts';

const monitor = (name: string, rest: Partial<PaletteMonitor> = {}): PaletteMonitor => ({
  id: name,
  name,
  url: `https://${name.toLowerCase().replaceAll(' ', '-')}.example`,
  labels: {},
  enabled: true,
  status: 'UP',
  failing: false,
  ...rest,
});
const index = [
  monitor('Old shop'),
  monitor('Checkout', { labels: { team: 'shop' } }),
  monitor('Shop API', { status: 'DOWN' }),
  monitor('Blog'),
];
const names = (search: string): string[] => findMonitors(index, search).found.map(({ name }) => name);

test.each([
  ['shop', ['Shop API', 'Old shop', 'Checkout']],
  ['SHOP old', ['Old shop']],
  ['team=shop', ['Checkout']],
  ['blog.example', ['Blog']],
  // Without a search, what is down.
  [' ', ['Shop API']],
])('%j finds %j', (search, found) => {
  expect(names(search)).toEqual(found);
});

test.each([
  ['dark', ['Light colors']],
  ['COLORS light', ['Light colors']],
  ['dark profile', []],
])('the search %j finds the items %j', (search, labels) => {
  const items = [{ label: 'Profile' }, { label: 'Light colors', keywords: 'Dark' }];
  expect(findItems(items, search).map(({ label }) => label)).toEqual(labels);
});

test('shows a few of many matches, and counts all', () => {
  const many = Array.from({ length: 10_000 }, (_, number) => monitor(`Shop ${number}`));
  const { found, total } = findMonitors(many, 'shop');
  expect([found.length, total]).toEqual([8, 10_000]);
});
