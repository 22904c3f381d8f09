import { expect, test } from '@jest/globals';
import { tail, type TailFlags } from '@tocsin-monitor/cli/commands/tail';
import type { ApiClient } from '@tocsin-monitor/cli/http/api-client';
import { ApiError } from '@tocsin-monitor/cli/http/api-error';
import { parseSelector } from '@tocsin/contracts/labels/selector-syntax';
import type { Event } from '@tocsin/contracts/monitors/events';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { at, eventOf, monitorOf } from './fake-api.ts';
import { fakeTerminal } from './fake-terminal.ts';

/** An API in memory, whose monitors have the label `id`. */
class FakeApi implements Pick<ApiClient, 'listMonitors' | 'listEvents' | 'tailEvents'> {
  readonly monitors = new Set<string>();
  /** In the order of the tail, whose cursor is a position in it. */
  readonly #recorded: Event[] = [];
  polls = 0;
  /** Actions before each poll, by the number of the poll from 1. */
  onPoll: Readonly<Record<number, () => void>> = {};
  onList: () => void = () => undefined;

  add(id: string, ...seconds: number[]): void {
    this.monitors.add(id);
    this.#recorded.push(...seconds.map((second) => eventOf(id, second)));
  }

  listMonitors(): Promise<Monitor[]> {
    this.onList();
    this.onList = () => undefined;
    const lastCheckOf = (id: string) => this.#eventsOf(id).at(-1)?.timestamp ?? null;
    const monitors = [...this.monitors].map((id) => ({ ...monitorOf(id, lastCheckOf(id)), labels: { id } }));
    return Promise.resolve(monitors);
  }

  listEvents(id: string, { limit, since }: { limit: number; since?: string }): Promise<Event[]> {
    const events = this.#eventsOf(id);
    return Promise.resolve(
      since === undefined
        ? events.slice(-limit)
        : events.filter(({ timestamp }) => timestamp > since).slice(0, limit),
    );
  }

  async tailEvents(limit: number, since?: string): Promise<{ events: Event[]; cursor: string }> {
    if (since === undefined) return { events: [], cursor: String(this.#recorded.length) };
    this.polls += 1;
    this.onPoll[this.polls]?.();
    const events = this.#recorded.slice(Number(since), Number(since) + limit);
    return { events, cursor: String(Number(since) + events.length) };
  }

  #eventsOf(id: string): Event[] {
    return this.#recorded.filter(({ monitorId }) => monitorId === id);
  }
}

/** Each monitor with an event. */
function apiWith(seconds: Readonly<Record<string, number>>): FakeApi {
  const api = new FakeApi();
  for (const [id, second] of Object.entries(seconds)) api.add(id, second);
  return api;
}

/** The ids of the printed events. A command that follows is stopped after 40 polls. */
async function idsOf(api: FakeApi, flags: Partial<TailFlags>, words: string[] = []): Promise<string[]> {
  const terminal = fakeTerminal();
  const last = api.polls + 40;
  api.onPoll = { ...api.onPoll, [last]: () => terminal.stop() };
  await tail(api, terminal, words, { limit: 10, every: 0.001, json: true, ...flags });
  return terminal.printed.map((line) => (JSON.parse(line) as Event).id);
}

const follow = true;

test('tail prints the latest events of all monitors, oldest first', async () => {
  const api = new FakeApi();
  api.add('a', 1, 4, 6);
  api.add('b', 2, 3, 5);
  expect(await idsOf(api, { limit: 4 })).toEqual(['b-3', 'a-4', 'b-5', 'a-6']);
  expect(await idsOf(api, { since: at(4) })).toEqual(['b-5', 'a-6']);
  expect(await idsOf(api, { limit: 0 })).toEqual([]);
});

test('tail -f prints each event once, through outages, several pages, and created and deleted monitors', async () => {
  const api = apiWith({ a: 1, b: 2 });
  const fail = (second: number, error: ApiError) => () => {
    api.add('a', second);
    throw error;
  };
  const later = Array.from({ length: 1_203 }, (_, index) => 20 + index);
  api.onPoll = {
    3: () => api.add('a', 3),
    4: () => api.add('c', 4),
    6: () => void api.monitors.delete('b'),
    8: fail(8, new ApiError('unavailable.', null)),
    9: fail(9, new ApiError('busy.', 503)),
    20: () => api.add('c', ...later),
  };
  const first = ['a-1', 'b-2', 'a-3', 'c-4', 'a-8', 'a-9'];
  expect(await idsOf(api, { follow })).toEqual([...first, ...later.map((second) => `c-${second}`)]);
});

test.each([
  [0, 'a', ['a-3', 'c-4']],
  [2, 'b', ['b-3', 'c-4']],
])('tail -f -n %i prints each event of the first requests once', async (limit, id, ids) => {
  const api = apiWith({ a: 1, b: 2 });
  api.onList = () => {
    api.add(id, 3);
    api.add('c', 4);
  };
  expect(await idsOf(api, { follow, limit })).toEqual(ids);
});

test('tail -f with a selector also follows monitors that match it later', async () => {
  const api = apiWith({ a: 1, b: 1, c: 1 });
  api.onPoll = {
    1: () => api.add('late'),
    20: () => ['a', 'b', 'c', 'late', 'other'].forEach((id) => api.add(id, 5)),
  };
  const selector = parseSelector('id in (a,c,late)');
  expect(await idsOf(api, { follow, selector })).toEqual(['a-1', 'c-1', 'a-5', 'c-5', 'late-5']);
});

test('tail -f of named monitors prints only their events, reports deletions and ends with the last monitor', async () => {
  const api = apiWith({ a: 1, b: 2, c: 3 });
  api.onPoll = {
    4: () => void api.monitors.delete('a'),
    16: () => ['b', 'c'].forEach((id) => api.add(id, 4)),
    26: () => void api.monitors.delete('b'),
  };
  const terminal = fakeTerminal();
  expect(await tail(api, terminal, ['a', 'b'], { limit: 10, every: 0.001, json: true, follow })).toBe(0);
  expect(terminal.notes).toEqual(['The monitor "a" was deleted.', 'The monitor "b" was deleted.']);
  const ids = terminal.printed.map((line) => (JSON.parse(line) as Event).id);
  expect(ids).toEqual(['a-1', 'b-2', 'b-4']);
});

test('tail -f ends after a permanent error, such as a deleted API key', async () => {
  const api = apiWith({ a: 1 });
  api.onPoll = {
    3: () => {
      throw new ApiError('This API key is not known.', 401);
    },
  };
  await expect(idsOf(api, { follow })).rejects.toMatchObject({ status: 401 });
});
