import { expect, test } from '@jest/globals';
import { packageOf, responsiblePackage, selfTimes, type CpuProfile } from '../profile/cpu-profile.ts';
import { combine } from '../scenarios/peers.ts';
import { formatNumber, tableOf } from './table.ts';

test.each([
  [12_345.6, '12,346'],
  [12.34, '12.3'],
  [3, '3'],
  [0.0123, '0.012'],
  [Number.NaN, '–'],
])('formatNumber(%d) is %s', (value, expected) => {
  expect(formatNumber(value)).toBe(expected);
});

test('tableOf aligns columns and shows which bars are reached', () => {
  const table = tableOf([
    { key: 'a', label: 'checks', value: 995, unit: '/s', bar: { atLeast: 990 } },
    { key: 'b', label: 'schedule lag', value: 1_500, unit: 'ms', bar: { atMost: 1_000 } },
    { key: 'c', label: 'memory', value: 80, unit: 'MB' },
    // A value that was not measured reaches no bar.
    { key: 'd', label: 'cost', value: Number.NaN, unit: 'ms', bar: { atMost: 1 } },
  ]);
  expect(table.split('\n')).toEqual([
    '  checks          995 /s  ≥ 990    reached',
    '  schedule lag  1,500 ms  ≤ 1,000  NOT REACHED',
    '  memory           80 MB',
    '  cost              – ms  ≤ 1      NOT REACHED',
  ]);
});

test('combine adds up the probes and the CPU time of windows, and keeps the last memory', () => {
  const window = (expected: number, completed: number, cpuMs: number, bytes: number) => {
    const [cpu, rss] = [cpuMs, bytes].map((value) => new Map([['prometheus', value]]));
    return { expected, completed, cpuMs: cpu ?? new Map(), rssBytes: rss ?? new Map(), bytes };
  };
  expect(combine([window(100, 90, 10, 1), window(100, 100, 30, 2)])).toEqual(window(200, 190, 40, 2));
});

const frame = (functionName: string, url = '') => ({ functionName, url, lineNumber: 0 });
const SEND = frame('send', 'file:///x/node_modules/.pnpm/ioredis@6/node_modules/ioredis/a.js');
const PROFILE: CpuProfile = {
  startTime: 1_000,
  nodes: [
    { id: 1, callFrame: frame('(root)'), children: [2, 3] },
    { id: 2, callFrame: frame('(idle)') },
    { id: 3, callFrame: SEND, children: [4] },
    { id: 4, callFrame: frame('writev') },
  ],
  samples: [2, 3, 4, 3, 4],
  timeDeltas: [100, 100, 100, 200, 100],
};

test('selfTimes counts a sample until the next one, and ignores idle time and time outside of the span', () => {
  const times = (from: number, to: number, nameOf: Parameters<typeof selfTimes>[2]): object =>
    Object.fromEntries(selfTimes([PROFILE], { from, to }, nameOf).map(({ name, share }) => [name, share]));
  expect(times(0, 9_999, ([own]) => own?.functionName ?? '')).toEqual({ send: 0.5, writev: 0.5 });
  expect(times(1_250, 1_350, ([own]) => own?.functionName ?? '')).toEqual({ writev: 1 });
  // The time of Node belongs to the package that called it.
  expect(times(0, 9_999, responsiblePackage)).toEqual({ ioredis: 1 });
  expect(responsiblePackage([frame('onread', 'node:net'), frame('(root)')])).toBe('(events of Node)');
  expect(responsiblePackage([frame('(garbage collector)')])).toBe('(garbage collector)');
});

test.each([
  ['file:///x/node_modules/.pnpm/drizzle-orm@0.45_a/node_modules/drizzle-orm/sql/sql.js', 'drizzle-orm'],
  ['file:///x/node_modules/@scope/name/index.js', '@scope/name'],
  ['file:///x/services/checker/dist/main.js', 'services/checker'],
  ['node:net', 'node:net'],
])('packageOf(%s) is %s', (url, name) => {
  expect(packageOf(frame('f', url))).toBe(name);
});
