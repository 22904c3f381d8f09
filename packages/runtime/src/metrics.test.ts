import { describe, expect, jest, test } from '@jest/globals';
import { createSilentLogger } from './logger.ts';
import { createMetrics, createReading, registerReadGauge, registerReadNumber } from './metrics.ts';

const logger = createSilentLogger();

describe('createReading', () => {
  test('reads once while the value is fresh, for any number of callers, even after a failure', async () => {
    let now = 0;
    let reads = 0;
    let fail: (() => Promise<number>) | null = null;
    const read = async (): Promise<number> => reads;
    const reading = createReading({
      what: 'it',
      logger,
      now: () => now,
      read: () => {
        reads += 1;
        return (fail ?? read)();
      },
    });
    expect(await Promise.all([reading(), reading(), reading()])).toEqual([1, 1, 1]);
    now = 9_999;
    expect(await reading()).toBe(1);
    now = 10_000;
    fail = () => Promise.reject(new Error('connection refused'));
    expect([await reading(), await reading(), reads]).toEqual([null, null, 2]);
    now = 20_000;
    fail = () => {
      throw new Error('not even a promise');
    };
    expect([await reading(), await reading(), reads]).toEqual([null, null, 3]);
    now = 30_000;
    fail = null;
    expect(await reading()).toBe(4);
  });

  test('a store that hangs delays a reading by less than 2 s, is read once, and its late response is used next time', async () => {
    let respond: ((value: number) => void) | undefined;
    let reads = 0;
    const reading = createReading({
      what: 'it',
      logger,
      read: () => {
        reads += 1;
        return new Promise<number>((resolve) => (respond = resolve));
      },
    });
    jest.useFakeTimers();
    try {
      const values: (number | null)[] = [];
      for (const asked of [reading(), reading()]) void asked.then((value) => values.push(value));
      await jest.advanceTimersByTimeAsync(1_999);
      expect(values).toEqual([null, null]);
      respond?.(7);
      expect([await reading(), reads]).toEqual([7, 1]);
    } finally {
      jest.useRealTimers();
    }
  });
});

describe('gauges that are read', () => {
  test('show the value that was read, or no value', async () => {
    const registry = createMetrics();
    let value: { of: string; count: number } | null = { of: 'a', count: 2 };
    const reading = async (): Promise<typeof value> => value;
    registerReadNumber(registry, { name: 'test_count', help: 'Count.' }, reading, ({ count }) => count);
    registerReadGauge(registry, {
      name: 'test_by_letter',
      help: 'By letter.',
      labelNames: ['letter'],
      samples: async () => value && [{ labels: { letter: value.of }, value: value.count }],
    });
    const samples = async (): Promise<string[]> =>
      (await registry.metrics()).split('\n').filter((line) => line.startsWith('test_'));
    expect(await samples()).toEqual(['test_count 2', 'test_by_letter{letter="a"} 2']);
    value = { of: 'b', count: 3 };
    expect(await samples()).toEqual(['test_count 3', 'test_by_letter{letter="b"} 3']);
    value = null;
    expect(await samples()).toEqual([]);
  });
});
