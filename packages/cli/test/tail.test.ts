import { expect, test } from '@jest/globals';
import { tail, type TailFlags } from '@tocsin-monitor/cli/commands/tail';
import type { ApiClient } from '@tocsin-monitor/cli/http/api-client';
import { ApiError } from '@tocsin-monitor/cli/http/api-error';
import { parseSelector } from '@tocsin/contracts/labels/selector-syntax';
import type { Event } from '@tocsin/contracts/monitors/events';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { at, eventOf, monitorOf } from './fake-api.ts';
import { fakeTerminal } from './fake-terminal.ts';

/** An API in memory whose events are recorded between polls. */
class FakeApi implements Pick<ApiClient, 'listMonitors' | 'listEvents' | 'tailEvents'> {
  readonly events = new Map<string, Event[]>();
  /** The events of all monitors in the order of the tail; a cursor is a position in it. */
  readonly #recorded: Event[] = [];
  /** Requests of the tail. */
  polls = 0;
  requests = 0;
  onPoll: (poll: number) => void = () => undefined;
  onList: () => void = () => undefined;

  add(id: string, ...seconds: number[]): void {
    const events = seconds.map((second) => eventOf(id, second));
    this.events.set(id, [...(this.events.get(id) ?? []), ...events]);
    this.#recorded.push(...events);
  }

  listMonitors(): Promise<Monitor[]> {
    this.onList();
    return Promise.resolve(
      [...this.events].map(([id, events]) => ({
        ...monitorOf(id, events.at(-1)?.timestamp ?? null),
        labels: { id },
      })),
    );
  }

  listEvents(id: string, { limit, since }: { limit: number; since?: string }): Promise<Event[]> {
    this.requests += 1;
    const events = this.events.get(id) ?? [];
    return Promise.resolve(
      since === undefined
        ? events.slice(-limit)
        : events.filter(({ timestamp }) => timestamp > since).slice(0, limit),
    );
  }

  tailEvents(limit: number, since?: string): Promise<{ events: Event[]; cursor: string }> {
    if (since === undefined) return Promise.resolve({ events: [], cursor: String(this.#recorded.length) });
    this.polls += 1;
    try {
      this.onPoll(this.polls);
    } catch (error) {
      return Promise.reject(error);
    }
    const events = this.#recorded.slice(Number(since), Number(since) + limit);
    return Promise.resolve({ events, cursor: String(Number(since) + events.length) });
  }
}

async function idsOf(api: FakeApi, flags: Partial<TailFlags>, words: string[] = []): Promise<string[]> {
  const terminal = fakeTerminal('/', {});
  api.onPoll = ((inner) => (poll: number) => {
    inner(poll);
    if (poll > 40) terminal.stop();
  })(api.onPoll);
  await tail(api, terminal, words, { limit: 10, every: 0.001, json: true, ...flags });
  return terminal.printed.map((line) => (JSON.parse(line) as Event).id);
}

test('tail prints the latest events of all monitors, oldest first', async () => {
  const api = new FakeApi();
  api.add('a', 1, 4, 6);
  api.add('b', 2, 3, 5);
  expect(await idsOf(api, { limit: 4 })).toEqual(['b-3', 'a-4', 'b-5', 'a-6']);
  expect(await idsOf(api, { since: at(4) })).toEqual(['b-5', 'a-6']);
  expect(await idsOf(api, { limit: 0 })).toEqual([]);
});

test('tail -f prints each event once, through outages, several pages, and created and deleted monitors', async () => {
  const api = new FakeApi();
  api.add('a', 1);
  api.add('b', 2);
  const down = new ApiError('unavailable.', null);
  api.onPoll = (poll) => {
    if (poll === 3) api.add('a', 3);
    if (poll === 4) api.add('c', 4);
    if (poll === 6) api.events.delete('b');
    if (poll >= 8 && poll < 14) {
      api.add('a', poll);
      throw poll % 2 === 0 ? down : new ApiError('busy.', 503);
    }
    if (poll === 20) api.add('c', ...Array.from({ length: 1_203 }, (_, index) => 20 + index));
  };
  const ids = await idsOf(api, { follow: true });
  expect(ids).toEqual([
    'a-1',
    'b-2',
    'a-3',
    'c-4',
    ...[8, 9, 10, 11, 12, 13].map((second) => `a-${second}`),
    ...Array.from({ length: 1_203 }, (_, index) => `c-${20 + index}`),
  ]);
});

test('tail requests events only of monitors that may have one to print', async () => {
  const api = new FakeApi();
  for (let index = 0; index < 500; index += 1) api.add(`m${index}`, index, index + 0.5);
  const ids = await idsOf(api, { limit: 3 });
  expect(ids).toEqual(['m498-498.5', 'm499-499', 'm499-499.5']);
  expect(api.requests).toBeLessThan(20);
  // Monitors that were not queried are still followed.
  api.onPoll = (poll) => {
    if (poll === 4) api.add('m7', 9_000);
  };
  expect(await idsOf(api, { limit: 1, follow: true })).toEqual(['m499-499.5', 'm7-9000']);
});

test('tail -f prints an event once that is recorded while it reads the first events', async () => {
  const api = new FakeApi();
  api.add('a', 1);
  api.add('b', 2);
  api.onList = () => {
    api.onList = () => undefined;
    api.add('a', 3);
    api.add('c', 4);
  };
  expect(await idsOf(api, { follow: true, limit: 0 })).toEqual(['a-3', 'c-4']);
  api.onList = () => {
    api.onList = () => undefined;
    api.add('b', 5);
  };
  expect(await idsOf(api, { follow: true, limit: 2 })).toEqual(['c-4', 'b-5']);
});

test('tail -f with monitors prints no event of others', async () => {
  const api = new FakeApi();
  api.add('a', 1);
  api.add('b', 2);
  api.onPoll = (poll) => {
    if (poll === 2) api.add('b', 3);
    if (poll === 3) api.add('a', 4);
  };
  expect(await idsOf(api, { follow: true }, ['a'])).toEqual(['a-1', 'a-4']);
});

test('tail -f reports deleted monitors and ends with the last one', async () => {
  const api = new FakeApi();
  api.add('a', 1);
  api.add('b', 2);
  api.onPoll = (poll) => {
    if (poll === 4) api.events.delete('a');
    if (poll === 16) api.add('b', 3);
    if (poll === 26) api.events.delete('b');
  };
  const terminal = fakeTerminal('/');
  const flags = { limit: 10, every: 0.001, json: true, follow: true };
  expect(await tail(api, terminal, ['a', 'b'], flags)).toBe(0);
  expect(terminal.notes).toEqual(['The monitor "a" was deleted.', 'The monitor "b" was deleted.']);
  expect(terminal.printed).toHaveLength(3);
});

test('tail -f ends after a permanent error, such as a deleted API key', async () => {
  const api = new FakeApi();
  api.add('a', 1);
  api.onPoll = (poll) => {
    if (poll === 3) throw new ApiError('This API key is not known.', 401);
  };
  await expect(idsOf(api, { follow: true })).rejects.toMatchObject({ status: 401 });
});

test('tail -f follows the monitors that a selector matches', async () => {
  const api = new FakeApi();
  for (const id of ['a', 'b', 'c']) api.add(id, 1);
  api.onPoll = (poll) => {
    if (poll === 1) for (const id of ['a', 'b', 'c']) api.add(id, 2);
  };
  const selector = parseSelector('id in (a,c)');
  expect(await idsOf(api, { follow: true, selector })).toEqual(['a-1', 'c-1', 'a-2', 'c-2']);
});

test('tail -f follows a monitor that matches the selector later', async () => {
  const api = new FakeApi();
  api.add('a', 1);
  api.onPoll = (poll) => {
    if (poll === 1) api.add('late');
    if (poll === 20) for (const id of ['other', 'late']) api.add(id, 2);
  };
  const selector = parseSelector('id in (a,late)');
  expect(await idsOf(api, { follow: true, selector })).toEqual(['a-1', 'late-2']);
});
