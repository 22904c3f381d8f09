import { expect, test } from '@jest/globals';
import type { MonitorStatus } from '@tocsin/contracts/vocabulary';
import { addToBurst, describeBurst, type BurstChange } from './burst.ts';

function change(name: string, previousStatus: MonitorStatus, status: MonitorStatus): BurstChange {
  const cause =
    status === 'DOWN'
      ? ({ errorReason: 'UNKNOWN_ERROR', errorDetail: 'the certificate expired' } as const)
      : { errorReason: null, errorDetail: null };
  return { monitorId: name.toLowerCase(), monitorName: name, previousStatus, status, ...cause };
}
const describe = (...changes: BurstChange[]): unknown => describeBurst(addToBurst(new Map(), changes));

test('one monitor', () => {
  const path = '/monitors/shop';
  const [down, up] = [change('Shop', 'UP', 'DOWN'), change('Shop', 'DOWN', 'UP')];
  expect(describe(down)).toEqual({ title: 'Shop is down', body: 'The certificate expired', path });
  expect(describe(up)).toEqual({ title: 'Shop is up again', body: '', path });
});

test('many monitors', () => {
  const names = Array.from({ length: 37 }, (_, index) => `Shop ${index}`);
  const down = names.map((name) => change(name, 'UP', 'DOWN'));
  expect(describe(...down)).toEqual({
    title: '37 monitors down',
    body: 'Shop 0, Shop 1, Shop 2 and 34 more',
    path: '/?status=DOWN',
  });
  expect(describe(...down, change('Blog', 'DOWN', 'UP'))).toMatchObject({
    title: '37 monitors down',
    body: 'Shop 0, Shop 1, Shop 2 and 34 more. Blog is up again',
  });
  expect(describe(...names.map((name) => change(name, 'DOWN', 'UP')))).toMatchObject({
    title: '37 monitors up again',
    path: '/',
  });
});

test.each([
  ['a first check', [change('Shop', 'PENDING', 'UP')]],
  ['maintenance', [change('Shop', 'DOWN', 'MAINTENANCE')]],
  ['a monitor that recovered meanwhile', [change('Shop', 'UP', 'DOWN'), change('Shop', 'DOWN', 'UP')]],
])('shows no notification for %s', (_, changes) => {
  expect(describe(...changes)).toBeNull();
});

test('a later change extends the burst', () => {
  const first = addToBurst(new Map(), [change('Shop', 'UP', 'DOWN')]);
  expect(describeBurst(addToBurst(first, [change('Blog', 'MAINTENANCE', 'DOWN')]))).toMatchObject({
    title: '2 monitors down',
  });
});
