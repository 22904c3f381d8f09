import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { QueryClient, QueryObserver } from '@tanstack/react-query';
import type { Event, RecentChecks } from '@tocsin/contracts/monitors/events';
import { eventAt } from '../testing/records.ts';
import { addRecentCheck, loadTogether, recentChecksQuery } from './recent-checks-query.ts';
import {
  describeLatencies,
  describePassed,
  drawBars,
  DRAWING,
  drawSparkline,
  latestLatency,
  mergeChecks,
  type RecentCheck,
} from './recent-checks.ts';

function checkOf(second: number, fields: Partial<RecentCheck> = {}): RecentCheck {
  const timestamp = new Date(Date.UTC(2026, 2, 1, 12, 0, second)).toISOString();
  return { timestamp, status: 'UP', inconclusive: false, latency: 100, region: 'default', ...fields };
}

const failed = { status: 'DOWN', latency: 0 } as const;
const inconclusive = { status: 'DOWN', inconclusive: true, latency: 900 } as const;

test('mergeChecks keeps the latest 30 by time, without duplicates, and the same list if nothing is new', () => {
  const known = [checkOf(1), checkOf(3)];
  expect(mergeChecks(known, [checkOf(3), checkOf(4), checkOf(2)])).toEqual(
    [1, 2, 3, 4].map((second) => checkOf(second)),
  );
  expect(mergeChecks(known, [checkOf(3)])).toBe(known);
  const all = Array.from({ length: 40 }, (_, second) => checkOf(second));
  expect(mergeChecks(all.slice(0, 25), all.slice(25))).toEqual(all.slice(10));
});

test.each([
  [[], 'No checks yet', 'No latency yet', null],
  [[checkOf(1)], '1 of 1 check passed', 'Latency 100 ms', 100],
  [[checkOf(1), checkOf(2, failed)], '1 of 2 checks passed', 'Latency 100 ms', null],
  [
    [checkOf(1, { latency: 1_500 }), checkOf(2, { status: 'DOWN', latency: 90 })],
    '1 of 2 checks passed',
    'Latency from 90 ms to 1.5 s',
    90,
  ],
  [
    [checkOf(1), checkOf(2, inconclusive), checkOf(3, inconclusive)],
    '1 of 1 check passed, 2 inconclusive',
    'Latency 100 ms',
    100,
  ],
  [[checkOf(1, inconclusive)], '1 inconclusive check', 'No latency yet', null],
])('describes and measures checks: case %#', (checks, passed, latencies, latest) => {
  expect(describePassed(checks)).toBe(passed);
  expect(describeLatencies(checks)).toBe(latencies);
  expect(latestLatency(checks)).toBe(latest);
});

test('drawBars has 30 slots with the latest check at the right, a taller failed one, and dashes if inconclusive', () => {
  const { up, down, none } = drawBars([checkOf(1), checkOf(2, failed), checkOf(3)]);
  expect(none.match(/M/g)).toHaveLength(27);
  expect(up).toBe('M135 6h3v16h-3zM145 6h3v16h-3z');
  expect(down).toBe('M140 0h3v22h-3z');
  expect(145 + 3).toBe(DRAWING.width);
  const dashes = 'M145 6h3v4h-3zM145 12h3v4h-3zM145 18h3v4h-3z';
  expect(drawBars([checkOf(1, inconclusive)])).toMatchObject({ up: '', down: '', inconclusive: dashes });
});

test.each<[string, RecentCheck[], string]>([
  ['without a response', [checkOf(1, failed)], ''],
  [
    'from 0 at the bottom to the highest at the top, and ends at the right',
    [checkOf(1, { latency: 0 }), checkOf(2, { latency: 50 }), checkOf(3, { latency: 200 })],
    'M137.8 21h.01L142.9 16L148 1',
  ],
  [
    'with a gap for an inconclusive check, whose latency does not count',
    [checkOf(1), checkOf(2, inconclusive), checkOf(3)],
    'M137.8 1h.01M148 1h.01',
  ],
])('drawSparkline draws %s', (_, checks, path) => {
  expect(drawSparkline(checks)).toBe(path);
});

describe('recent checks of visible monitors', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  function eventOf(monitorId: string, second: number, url: string | null = null): Event {
    return { ...eventAt(second, monitorId), latency: second, url };
  }

  /** The response of the API for the monitor a. */
  function checksAt(...seconds: number[]): RecentChecks[] {
    const checks = seconds.map((second) => {
      const { timestamp, latency } = eventOf('a', second);
      return checkOf(second, { timestamp, latency });
    });
    return [{ monitorId: 'a', checks }];
  }

  class World {
    readonly queryClient = new QueryClient({ defaultOptions: { queries: { retry: false } } });
    readonly requests: (readonly string[])[] = [];
    readonly #open: ((response: Promise<RecentChecks[]>) => void)[] = [];
    readonly #load = loadTogether((ids) => {
      this.requests.push(ids);
      return new Promise((resolve) => {
        this.#open.push(resolve);
      });
    });

    /** Puts a monitor on screen. @returns a function that removes it */
    show(monitorId: string): () => void {
      const observer = new QueryObserver(this.queryClient, recentChecksQuery(monitorId, this.#load));
      return observer.subscribe(() => undefined);
    }

    add(...events: Event[]): void {
      for (const event of events) addRecentCheck(this.queryClient, event);
    }

    /** Latencies of the cached checks, or null until they are loaded. */
    seconds(monitorId: string): number[] | null {
      const state = this.queryClient.getQueryState(recentChecksQuery(monitorId).queryKey);
      if (state?.data === undefined || state.dataUpdatedAt === 0) return null;
      return state.data.map(({ latency }) => latency);
    }

    /** Lets the page send its requests, and responds to the oldest one. */
    async respond(response: RecentChecks[] | Error): Promise<void> {
      await jest.advanceTimersByTimeAsync(100);
      this.#open.shift()?.(response instanceof Error ? Promise.reject(response) : Promise.resolve(response));
      await jest.advanceTimersByTimeAsync(1);
    }
  }

  /** The monitor a is on screen, with a check. */
  async function loadedWorld(): Promise<{ world: World; hide: () => void }> {
    const world = new World();
    const hide = world.show('a');
    await world.respond(checksAt(1));
    return { world, hide };
  }

  test('are loaded with one request if they appear together, for at most 200 monitors at a time', async () => {
    const world = new World();
    world.show('a');
    world.show('b');
    expect(world.seconds('a')).toBeNull();
    await world.respond(checksAt(1));
    expect(world.requests).toEqual([['a', 'b']]);
    // The monitor b was deleted.
    expect([world.seconds('a'), world.seconds('b')]).toEqual([[1], []]);
    for (let index = 0; index < 250; index += 1) world.show(`m${index}`);
    await jest.advanceTimersByTimeAsync(200);
    expect(world.requests.map(({ length }) => length)).toEqual([2, 200, 50]);
  });

  test('are not loaded for monitors that are scrolled past until they return', async () => {
    const world = new World();
    world.show('passed')();
    world.show('seen');
    await jest.advanceTimersByTimeAsync(100);
    expect(world.requests).toEqual([['seen']]);
    world.add(eventOf('passed', 1));
    world.show('passed');
    await jest.advanceTimersByTimeAsync(100);
    expect(world.requests).toEqual([['seen'], ['passed']]);
  });

  test('include live checks that arrive during a request', async () => {
    const world = new World();
    world.show('a');
    world.add(eventOf('a', 2));
    await jest.advanceTimersByTimeAsync(100);
    world.add(eventOf('a', 3), eventOf('a', 4));
    expect(world.seconds('a')).toBeNull();
    await world.respond(checksAt(1, 2, 3));
    expect(world.seconds('a')).toEqual([1, 2, 3, 4]);
  });

  test('do not include live checks of other monitors and other URLs', async () => {
    const { world } = await loadedWorld();
    const { queryKey } = recentChecksQuery('a');
    const before = world.queryClient.getQueryData(queryKey);
    world.add(eventOf('b', 2), eventOf('a', 1), eventOf('a', 5, 'https://preview.example'));
    expect(world.queryClient.getQueryData(queryKey)).toBe(before);
    expect(world.queryClient.getQueryCache().getAll()).toHaveLength(1);
  });

  test('stay up to date for a minute after their monitor leaves the screen', async () => {
    const { world, hide } = await loadedWorld();
    hide();
    await jest.advanceTimersByTimeAsync(50_000);
    world.add(eventOf('a', 2));
    world.show('a')();
    expect([world.seconds('a'), world.requests.length]).toEqual([[1, 2], 1]);
    await jest.advanceTimersByTimeAsync(61_000);
    expect(world.seconds('a')).toBeNull();
  });

  test('are reloaded after a reset, and after a failed reload, even if a live check has arrived', async () => {
    const { world } = await loadedWorld();
    void world.queryClient.invalidateQueries();
    await world.respond(new Error('no connection'));
    world.add(eventOf('a', 3));
    await world.respond(checksAt(1, 2));
    expect(world.requests).toEqual([['a'], ['a'], ['a']]);
    expect(world.seconds('a')).toEqual([1, 2, 3]);
  });
});
