import { expect, test } from '@jest/globals';
import { filterMonitors, sortMonitors } from './filter-monitors.ts';

const monitors = ['Shop 10', 'Blog', 'Shop 9'].map((name, index) => ({
  id: String(index),
  name,
  url: `https://${index}.example/health`,
}));
const names = (found: readonly { name: string }[]): string[] => found.map(({ name }) => name);

test('matches every word in the name or the URL', () => {
  expect(names(filterMonitors(monitors, ' SHOP '))).toEqual(['Shop 10', 'Shop 9']);
  expect(names(filterMonitors(monitors, 'shop 2.example'))).toEqual(['Shop 9']);
  expect(filterMonitors(monitors, '')).toEqual(monitors);
  expect(filterMonitors(monitors, 'nothing')).toEqual([]);
});

test('sorts by name with numeric order, selected monitors first', () => {
  expect(names(sortMonitors(monitors))).toEqual(['Blog', 'Shop 9', 'Shop 10']);
  expect(names(sortMonitors(monitors, new Set(['0'])))).toEqual(['Shop 10', 'Blog', 'Shop 9']);
});
