import { expect, test } from '@jest/globals';
import type { Event, RecentChecks } from '@tocsin/contracts/monitors/events';
import { LatestLatencies } from './latest-latencies.ts';

type Heard = Pick<Event, 'monitorId' | 'status' | 'latency' | 'url'>;
const heard = (checks: Heard[]): Event[] => checks as Event[];
const signal = new AbortController().signal;

function recentOf(monitorId: string, latencies: number[]): RecentChecks {
  const checks = latencies.map((latency) => ({
    timestamp: '2026-03-01T12:00:00.000Z',
    status: latency === 0 ? ('DOWN' as const) : ('UP' as const),
    latency,
    region: 'default',
  }));
  return { monitorId, checks };
}

test('knows the latest answered check of each, live ones before loaded ones', async () => {
  const latest = new LatestLatencies();
  latest.add(
    heard([
      { monitorId: 'a', status: 'UP', latency: 7, url: null },
      { monitorId: 'b', status: 'UP', latency: 8, url: 'https://preview.example' },
      { monitorId: 'b', status: 'DOWN', latency: 0, url: null },
    ]),
  );
  const asked: (readonly string[])[] = [];
  await latest.load(
    ['a', 'b', 'c'],
    async (ids) => {
      asked.push(ids);
      latest.add(heard([{ monitorId: 'c', status: 'UP', latency: 9, url: null }]));
      return [recentOf('b', [1, 2, 0]), recentOf('c', [3])];
    },
    signal,
  );
  expect(asked).toEqual([['b', 'c']]);
  expect(Object.fromEntries(latest.publish())).toEqual({ a: 7, b: 2, c: 9 });
});

test('asks for 200 at once, and no more after it was left', async () => {
  const ids = Array.from({ length: 450 }, (_, index) => `m${index}`);
  const sizes: number[] = [];
  const left = new AbortController();
  const load = async (asked: readonly string[]): Promise<RecentChecks[]> => {
    sizes.push(asked.length);
    if (sizes.length === 4) left.abort();
    return [];
  };
  await new LatestLatencies().load(ids, load, signal);
  expect(sizes).toEqual([200, 200, 50]);
  await new LatestLatencies().load(ids, load, left.signal);
  expect(sizes).toEqual([200, 200, 50, 200]);
});

test('publishes the same object until something changes', () => {
  const latest = new LatestLatencies();
  const before = latest.publish();
  expect(latest.publish()).toBe(before);
  latest.add(heard([{ monitorId: 'a', status: 'UP', latency: 7, url: null }]));
  expect(latest.publish()).not.toBe(before);
  expect(Object.fromEntries(before)).toEqual({});
});
