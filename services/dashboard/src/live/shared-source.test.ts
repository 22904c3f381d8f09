import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { LiveStream } from './live-stream.ts';
import { AT, FakeSource } from './testing/fake-source.ts';

/** Delivers at once to the other channels of the same name. */
class FakeChannel {
  static all: FakeChannel[] = [];
  #listener: ((event: { data: unknown }) => void) | null = null;
  readonly name: string;

  constructor(name: string) {
    this.name = name;
    FakeChannel.all.push(this);
  }

  addEventListener(_type: string, listener: (event: { data: unknown }) => void): void {
    this.#listener = listener;
  }

  postMessage(data: unknown): void {
    for (const other of FakeChannel.all)
      if (other !== this && other.name === this.name) other.#listener?.({ data: structuredClone(data) });
  }

  close(): void {
    FakeChannel.all = FakeChannel.all.filter((channel) => channel !== this);
  }
}

beforeEach(() => {
  jest.useFakeTimers();
  FakeSource.opened = [];
  FakeChannel.all = [];
  Object.assign(globalThis, { EventSource: FakeSource, BroadcastChannel: FakeChannel });
});
afterEach(() => {
  jest.useRealTimers();
  Reflect.deleteProperty(globalThis, 'EventSource');
  Reflect.deleteProperty(globalThis, 'BroadcastChannel');
});

const alive = (): FakeSource[] =>
  FakeSource.opened.filter(({ readyState }) => readyState !== FakeSource.CLOSED);

/** Tabs that have opened the stream, with the ids of the checks that each has received. */
function openTabs(count: number): { stream: LiveStream; ids: string[] }[] {
  return Array.from({ length: count }, () => {
    const stream = new LiveStream();
    const ids: string[] = [];
    stream.on('batch', ({ checks }) => ids.push(...checks.map(({ id }) => id)));
    stream.listen();
    stream.open(AT);
    return { stream, ids };
  });
}

/** Lets the tabs agree on a leader, whose stream opens. */
function settle(): FakeSource {
  jest.advanceTimersByTime(1_000);
  const [source, ...others] = alive();
  expect(others).toEqual([]);
  source?.open();
  jest.advanceTimersByTime(1_000);
  return source as FakeSource;
}

test('eight tabs share one stream, and each receives every record', () => {
  const tabs = openTabs(8);
  const source = settle();
  source.send('check', { id: '1' });
  jest.advanceTimersByTime(250);
  expect(tabs.map(({ stream, ids }) => `${stream.state} ${stream.resumed} ${ids.join()}`)).toEqual(
    Array(8).fill('live true 1'),
  );
  source.send('error');
  expect(tabs.map(({ stream }) => stream.state)).toEqual(Array(8).fill('lost'));
});

test('a tab that opens later follows, and knows whether it missed anything', () => {
  openTabs(1);
  settle();
  const [later] = openTabs(1);
  jest.advanceTimersByTime(1_000);
  expect([alive().length, later?.stream.state, later?.stream.resumed]).toEqual([1, 'live', true]);
  // A paused tab receives nothing, so it may have missed records.
  later?.stream.pause();
  later?.stream.open();
  jest.advanceTimersByTime(1_000);
  expect([alive().length, later?.stream.state, later?.stream.resumed]).toEqual([1, 'live', false]);
});

test('when the leading tab is closed, another one resumes at the latest position', () => {
  const tabs = openTabs(3);
  const first = settle();
  first.send('check', { id: '1' }, '2026-03-01T12:34:00.000Z');
  for (const { stream } of tabs) {
    if (first.readyState === FakeSource.CLOSED) break;
    stream.pause();
    // Pausing a follower does not close the stream.
    if (first.readyState !== FakeSource.CLOSED) stream.open();
  }
  const second = settle();
  expect(second.url).toContain(encodeURIComponent('2026-03-01T12:34:00.000Z'));
  second.send('check', { id: '1' });
  second.send('check', { id: '2' });
  jest.advanceTimersByTime(250);
  const live = tabs.filter(({ stream }) => stream.state === 'live');
  expect(live.map(({ ids }) => ids)).toEqual([
    ['1', '2'],
    ['1', '2'],
  ]);
});

test('when the leading tab dies without a word, another one takes over', () => {
  const tabs = openTabs(2);
  settle();
  const [dead] = FakeChannel.all;
  dead?.close();
  Object.assign(dead ?? {}, { postMessage: () => undefined });
  jest.advanceTimersByTime(40_000);
  for (const source of alive()) source.open();
  expect(tabs.map(({ stream }) => stream.state)).toEqual(['live', 'live']);
});
