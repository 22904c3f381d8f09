import { expect, test } from '@jest/globals';
import { packageOf, responsiblePackage, selfTimes, type CpuProfile } from './cpu-profile.ts';

const frame = (functionName: string, url: string) => ({ functionName, url, lineNumber: 0 });
const PROFILE: CpuProfile = {
  startTime: 1_000,
  nodes: [
    { id: 1, callFrame: frame('(root)', ''), children: [2, 3] },
    { id: 2, callFrame: frame('(idle)', '') },
    {
      id: 3,
      callFrame: frame('send', 'file:///x/node_modules/.pnpm/ioredis@6/node_modules/ioredis/a.js'),
      children: [4],
    },
    { id: 4, callFrame: frame('writev', '') },
  ],
  samples: [2, 3, 4, 3, 4],
  timeDeltas: [100, 100, 100, 200, 100],
};

test('selfTimes counts a sample until the next one, and ignores idle time and time outside of the span', () => {
  const all = selfTimes([PROFILE], { from: 0, to: 9_999 }, ([own]) => own?.functionName ?? '');
  expect(new Map(all.map(({ name, share }) => [name, share]))).toEqual(
    new Map([
      ['send', 0.5],
      ['writev', 0.5],
    ]),
  );
  const part = selfTimes([PROFILE], { from: 1_250, to: 1_350 }, ([own]) => own?.functionName ?? '');
  expect(part).toEqual([{ name: 'writev', share: 1 }]);
});

test('responsiblePackage attributes the time of Node to the package that called it', () => {
  const times = selfTimes([PROFILE], { from: 0, to: 9_999 }, responsiblePackage);
  expect(times).toEqual([{ name: 'ioredis', share: 1 }]);
  expect(responsiblePackage([frame('onread', 'node:net'), frame('(root)', '')])).toBe('(events of Node)');
  expect(responsiblePackage([frame('(garbage collector)', '')])).toBe('(garbage collector)');
});

test.each([
  ['file:///x/node_modules/.pnpm/drizzle-orm@0.45_a/node_modules/drizzle-orm/sql/sql.js', 'drizzle-orm'],
  ['file:///x/node_modules/@scope/name/index.js', '@scope/name'],
  ['file:///x/services/checker/dist/main.js', 'services/checker'],
  ['node:net', 'node:net'],
])('packageOf(%s) is %s', (url, name) => {
  expect(packageOf(frame('f', url))).toBe(name);
});
