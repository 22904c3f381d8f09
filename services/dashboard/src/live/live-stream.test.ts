import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { type LiveBatch, LiveStream, pauseWhileHidden } from './live-stream.ts';
import { AT, FakeSource } from './testing/fake-source.ts';

/** Tabs of one test do not hear each other. */
const { BroadcastChannel } = globalThis;

const latest = (): FakeSource => {
  const source = FakeSource.opened.at(-1);
  if (source === undefined) throw new Error('no stream was opened');
  return source;
};

beforeEach(() => {
  jest.useFakeTimers();
  FakeSource.opened = [];
  Object.assign(globalThis, { EventSource: FakeSource, BroadcastChannel: undefined });
});
afterEach(() => {
  jest.useRealTimers();
  Reflect.deleteProperty(globalThis, 'EventSource');
  Object.assign(globalThis, { BroadcastChannel });
});

function open(): { stream: LiveStream; batches: LiveBatch[] } {
  const stream = new LiveStream();
  const batches: LiveBatch[] = [];
  stream.on('batch', (batch) => batches.push(batch));
  stream.open();
  return { stream, batches };
}

test('a stream resumes only when the browser reopens it', () => {
  const { stream } = open();
  latest().send('open');
  expect([stream.state, stream.resumed]).toEqual(['live', false]);
  latest().send('error');
  expect(stream.state).toBe('lost');
  latest().send('open');
  expect([stream.state, stream.resumed]).toEqual(['live', true]);
});

test('opens another stream at the last position after an invalid response', () => {
  const { stream } = open();
  for (const [count, resumed] of [
    [2, false],
    [3, true],
  ] as const) {
    latest().close();
    latest().send('error');
    jest.advanceTimersByTime(5_000);
    latest().send('open');
    expect([FakeSource.opened.length, stream.resumed]).toEqual([count, resumed]);
    latest().send('check', { id: '1' });
  }
  expect(latest().url).toContain(encodeURIComponent(AT));
});

test('two missed heartbeats end the stream, and another resumes', () => {
  const { stream } = open();
  latest().send('open');
  jest.advanceTimersByTime(30_000);
  latest().send('heartbeat');
  jest.advanceTimersByTime(34_000);
  expect([FakeSource.opened.length, stream.state]).toEqual([1, 'live']);
  jest.advanceTimersByTime(2_000);
  expect(FakeSource.opened[0]?.readyState).toBe(FakeSource.CLOSED);
  expect([FakeSource.opened.length, stream.state]).toEqual([2, 'lost']);
  expect(latest().url).toContain(encodeURIComponent(AT));
  expect(Date.now() - stream.heardAt).toBe(36_000);
  latest().send('open');
  expect([stream.state, stream.resumed]).toEqual(['live', true]);
});

test('a stream that never opens is replaced, and only one is open at a time', () => {
  open();
  jest.advanceTimersByTime(36_000);
  latest().close();
  latest().send('error');
  jest.advanceTimersByTime(80_000);
  const alive = FakeSource.opened.filter(({ readyState }) => readyState !== FakeSource.CLOSED);
  expect([FakeSource.opened.length, alive]).toEqual([5, [latest()]]);
});

test('delivers a repeated record once', () => {
  const { batches } = open();
  latest().send('check', { id: '1' });
  latest().send('check', { id: '1' });
  jest.advanceTimersByTime(250);
  expect(batches.map(({ checks }) => checks.length)).toEqual([1]);
});

test('a page that is hidden for a minute disconnects, and resumes when it is visible', () => {
  const page = Object.assign(new EventTarget(), { visibilityState: 'visible' });
  const { stream, batches } = open();
  const end = pauseWhileHidden(stream, page as Document);
  const see = (visibilityState: string): void => {
    page.visibilityState = visibilityState;
    page.dispatchEvent(new Event('visibilitychange'));
  };
  latest().send('check', { id: '1' });
  const listen = (seconds: number): void => {
    for (let second = 0; second < seconds; second += 1) {
      jest.advanceTimersByTime(1_000);
      if (latest().readyState !== FakeSource.CLOSED) latest().send('heartbeat');
    }
  };
  see('hidden');
  listen(59);
  see('visible');
  expect(FakeSource.opened).toHaveLength(1);
  see('hidden');
  listen(60);
  expect(latest().readyState).toBe(FakeSource.CLOSED);
  expect(batches).toHaveLength(1);
  see('visible');
  expect(FakeSource.opened).toHaveLength(2);
  latest().send('open');
  expect(stream.resumed).toBe(true);
  end();
  stream.close();
});
