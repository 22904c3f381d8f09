import { afterEach, expect, jest, test } from '@jest/globals';
import { trigger } from '@tocsin-monitor/cli/commands/trigger';
import type { ApiClient } from '@tocsin-monitor/cli/http/api-client';
import { ApiError } from '@tocsin-monitor/cli/http/api-error';
import { clientOf, eventOf, type Handler, json, monitorOf } from './fake-api.ts';
import { fakeTerminal, runIn } from './fake-terminal.ts';

afterEach(() => {
  jest.useRealTimers();
});

test('the exit code of trigger is its result', async () => {
  const results: ('UP' | 'DOWN')[] = ['UP', 'DOWN', 'DOWN', 'UP'];
  const api = {
    listMonitors: () => Promise.resolve([monitorOf('a', null), monitorOf('b', null)]),
    trigger: (id: string) => Promise.resolve(eventOf(id, 1, results.shift())),
  };
  const run = (words: string[]): Promise<number> => trigger(api, fakeTerminal('/'), words, { json: true });
  expect([await run(['a']), await run(['a']), await run(['a', 'b'])]).toEqual([0, 2, 2]);
});

test('trigger checks the monitors that a selector matches', async () => {
  const labeled = (id: string, app: string): object => ({ ...monitorOf(id, null), labels: { app } });
  const all = [labeled('a', 'shop'), labeled('b', 'blog'), labeled('c', 'shop')];
  const { url, seen } = await clientOf([
    json({ monitors: all }),
    json({ event: eventOf('b', 1) }),
    json({ event: eventOf('a', 1) }),
    json({ event: eventOf('c', 1) }),
  ]);
  const env = { TOCSIN_URL: url, TOCSIN_API_KEY: 'key' };
  expect((await runIn('/', ['trigger', 'b', '-l', 'app=shop'], env)).code).toBe(0);
  expect(seen.slice(1).map((request) => request.url?.split('/').at(-2))).toEqual(['b', 'a', 'c']);
});

test('trigger prints earlier results if a later check fails', async () => {
  const api = {
    listMonitors: () => Promise.resolve([monitorOf('a', null), monitorOf('b', null)]),
    trigger: (id: string) =>
      id === 'a' ? Promise.resolve(eventOf(id, 1)) : Promise.reject(new ApiError('No checker.', 504)),
  };
  const terminal = fakeTerminal('/');
  await expect(trigger(api, terminal, ['a', 'b'], {})).rejects.toThrow('No checker.');
  expect(terminal.printed).toEqual([expect.stringContaining('  a')]);
});

test('trigger --wait checks each monitor before it repeats one', async () => {
  const results = new Map([
    ['a', ['DOWN', 'DOWN', 'UP']],
    ['b', ['UP']],
    ['c', ['DOWN', 'UP']],
  ] as const);
  const left = new Map([...results].map(([id, statuses]) => [id, [...statuses]]));
  const requested: string[] = [];
  const api = {
    listMonitors: () => Promise.resolve([...results.keys()].map((id) => monitorOf(id, null))),
    trigger: (id: string) => {
      requested.push(id);
      if (requested.length === 2) return Promise.reject(new ApiError('A checker is deployed itself.', 504));
      return Promise.resolve(eventOf(id, requested.length, left.get(id as 'a')?.shift()));
    },
  };
  const terminal = fakeTerminal('/');
  expect(await trigger(api, terminal, ['a', 'b', 'c'], { wait: 60 }, 1)).toBe(0);
  expect(requested.join('')).toBe('abcabca');
  expect(terminal.printed.map((line) => line.trim().split(/\s+/)[1])).toEqual(['UP', 'UP', 'UP']);
});

const monitors = json({ monitors: [monitorOf('a', null), monitorOf('b', null)] });
const checked =
  (status: 'UP' | 'DOWN', afterMs = 0): Handler =>
  (_, res) =>
    void setTimeout(() => res.end(JSON.stringify({ event: eventOf('a', 1, status) })), afterMs);
test('trigger --wait ends with the first check that passes', async () => {
  const { url, bodies } = await clientOf([monitors, checked('UP')]);
  const env = { TOCSIN_URL: url, TOCSIN_API_KEY: 'key' };
  const target = 'http://localhost:3000/readyz';
  const ran = await runIn('/', ['trigger', 'a', '--wait', '600', '--url', target], env);
  expect([ran.code, ran.out]).toEqual([0, expect.stringContaining('UP')]);
  expect(bodies).toEqual(['', JSON.stringify({ url: target })]);
});

test('trigger --wait starts no check after its deadline', async () => {
  const { client, seen } = await clientOf([monitors, checked('DOWN'), checked('UP')]);
  // The next one would be due exactly when the time is up.
  expect(await trigger(client, fakeTerminal('/'), ['a'], { wait: 600 }, 600_000)).toBe(2);
  expect(seen).toHaveLength(2);
});

/**
 * An API with two monitors on a fake clock. A check without a response takes a minute.
 * @param statuses of the checks in turn; null: no response
 */
function slowApi(statuses: ('DOWN' | null)[]): Pick<ApiClient, 'listMonitors' | 'trigger'> & {
  readonly requested: [string, number | undefined][];
} {
  const requested: [string, number | undefined][] = [];
  jest.useFakeTimers({ now: 0, doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate', 'setTimeout'] });
  return {
    requested,
    listMonitors: (until) => {
      requested.push(['', until]);
      return Promise.resolve([monitorOf('a', null), monitorOf('b', null)]);
    },
    trigger: (id, _, until) => {
      requested.push([id, until]);
      const status = statuses.shift();
      if (status) return Promise.resolve(eventOf(id, requested.length, status));
      jest.advanceTimersByTime(60_000);
      return Promise.reject(new ApiError(`${id} did not respond in time.`, null));
    },
  };
}

test('trigger --wait has one deadline for all requests', async () => {
  const api = slowApi([null]);
  const until = performance.now() + 60_000;
  const running = trigger(api, fakeTerminal('/'), ['a', 'b'], { wait: 60 }, 1);
  await expect(running).rejects.toThrow('a did not respond in time');
  expect(api.requested).toEqual([
    ['', until],
    ['a', until],
  ]);
});

test('trigger --wait keeps the earlier result at the deadline and fails for an unchecked monitor', async () => {
  expect(await trigger(slowApi(['DOWN', null]), fakeTerminal('/'), ['a'], { wait: 60 }, 1)).toBe(2);
  const terminal = fakeTerminal('/');
  const late = trigger(slowApi(['DOWN', null]), terminal, ['a', 'b', 'a'], { wait: 60 }, 1);
  await expect(late).rejects.toThrow('b did not respond in time');
  expect(terminal.printed).toEqual([expect.stringContaining('DOWN')]);
});

test('trigger --wait 0 checks once, however long it takes', async () => {
  const { client, seen } = await clientOf([monitors, checked('DOWN', 200), checked('UP')]);
  expect(await trigger(client, fakeTerminal('/'), ['a'], { wait: 0 }, 1)).toBe(2);
  expect(seen).toHaveLength(2);
});
