import { afterEach, expect, jest, test } from '@jest/globals';
import { trigger } from '@tocsin-monitor/cli/commands/trigger';
import type { ApiClient } from '@tocsin-monitor/cli/http/api-client';
import { ApiError } from '@tocsin-monitor/cli/http/api-error';
import { clientOf, eventOf, json, monitorOf } from './fake-api.ts';
import { fakeTerminal, runIn } from './fake-terminal.ts';

afterEach(() => {
  jest.useRealTimers();
});

/** A check without a response takes a minute. */
const LATE = 'late';
type Result = 'UP' | 'DOWN' | typeof LATE | ApiError;

/** An API with the monitors a, b and c, whose checks have these results in turn. */
function apiWith(...results: Result[]): Pick<ApiClient, 'listMonitors' | 'trigger'> & {
  readonly requested: [id: string, until: number | undefined][];
} {
  const requested: [string, number | undefined][] = [];
  if (results.includes(LATE))
    jest.useFakeTimers({ now: 0, doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate', 'setTimeout'] });
  return {
    requested,
    listMonitors: (until) => {
      requested.push(['', until]);
      return Promise.resolve(['a', 'b', 'c'].map((id) => monitorOf(id)));
    },
    trigger: (id, _, until) => {
      requested.push([id, until]);
      const result = results.shift();
      if (result instanceof ApiError) return Promise.reject(result);
      if (result !== LATE) return Promise.resolve(eventOf(id, requested.length, result));
      jest.advanceTimersByTime(60_000);
      return Promise.reject(new ApiError(`${id} did not respond in time.`, null));
    },
  };
}

test('the exit code of trigger says whether all monitors are UP', async () => {
  expect(await trigger(apiWith('UP', 'UP'), fakeTerminal(), ['a', 'b'], {})).toBe(0);
  expect(await trigger(apiWith('DOWN', 'UP'), fakeTerminal(), ['a', 'b'], {})).toBe(2);
});

test('trigger checks the monitors that a selector matches', async () => {
  const labeled = (id: string, app: string): object => ({ ...monitorOf(id), labels: { app } });
  const { url, seen } = await clientOf([
    json({ monitors: [labeled('a', 'shop'), labeled('b', 'blog'), labeled('c', 'shop')] }),
    ...['b', 'a', 'c'].map((id) => json({ event: eventOf(id, 1) })),
  ]);
  const env = { TOCSIN_URL: url, TOCSIN_API_KEY: 'key' };
  expect((await runIn('/', ['trigger', 'b', '-l', 'app=shop'], { env })).code).toBe(0);
  expect(seen.slice(1).map((request) => request.url?.split('/').at(-2))).toEqual(['b', 'a', 'c']);
});

test('trigger prints earlier results if a later check fails', async () => {
  const terminal = fakeTerminal();
  const api = apiWith('UP', new ApiError('No checker.', 504));
  await expect(trigger(api, terminal, ['a', 'b'], {})).rejects.toThrow('No checker.');
  expect(terminal.printed).toEqual([expect.stringContaining('  a')]);
});

test('trigger --wait checks each monitor before it repeats one', async () => {
  const deployed = new ApiError('A checker is deployed itself.', 504);
  const api = apiWith('DOWN', deployed, 'DOWN', 'DOWN', 'UP', 'UP', 'UP');
  const terminal = fakeTerminal();
  expect(await trigger(api, terminal, ['a', 'b', 'c'], { wait: 60 }, 1)).toBe(0);
  expect(api.requested.map(([id]) => id).join('')).toBe('abcabca');
  expect(terminal.printed.map((line) => line.trim().split(/\s+/)[1])).toEqual(['UP', 'UP', 'UP']);
});

test('trigger --wait ends with the first check that passes', async () => {
  const { url, bodies } = await clientOf([
    json({ monitors: [monitorOf('a')] }),
    json({ event: eventOf('a', 1) }),
  ]);
  const env = { TOCSIN_URL: url, TOCSIN_API_KEY: 'key' };
  const target = 'http://localhost:3000/readyz';
  const ran = await runIn('/', ['trigger', 'a', '--wait', '600', '--url', target], { env });
  expect([ran.code, ran.out]).toEqual([0, expect.stringContaining('UP')]);
  expect(bodies).toEqual(['', JSON.stringify({ url: target })]);
});

test.each([
  // The next check would be due exactly when the time is up.
  ['starts no check after its deadline', 600, 600_000],
  ['checks once if it is 0', 0, 1],
])('trigger --wait %s', async (_, wait, retryAfterMs) => {
  const api = apiWith('DOWN', 'UP');
  expect(await trigger(api, fakeTerminal(), ['a'], { wait }, retryAfterMs)).toBe(2);
  expect(api.requested).toHaveLength(2);
});

test('trigger --wait has one deadline for all requests', async () => {
  const api = apiWith(LATE);
  const until = performance.now() + 60_000;
  const running = trigger(api, fakeTerminal(), ['a', 'b'], { wait: 60 }, 1);
  await expect(running).rejects.toThrow('a did not respond in time');
  expect(api.requested).toEqual([
    ['', until],
    ['a', until],
  ]);
});

test('trigger --wait keeps the earlier result at the deadline and fails for an unchecked monitor', async () => {
  expect(await trigger(apiWith('DOWN', LATE), fakeTerminal(), ['a'], { wait: 60 }, 1)).toBe(2);
  const terminal = fakeTerminal();
  const late = trigger(apiWith('DOWN', LATE), terminal, ['a', 'b', 'a'], { wait: 60 }, 1);
  await expect(late).rejects.toThrow('b did not respond in time');
  expect(terminal.printed).toEqual([expect.stringContaining('DOWN')]);
});
