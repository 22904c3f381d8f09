import { isIP, Socket } from 'node:net';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { raceConnections } from './race-connections.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** A race whose attempts neither succeed nor fail by themselves. */
function race(...addresses: string[]) {
  const attempts = new Map<string, Socket>();
  const results: unknown[] = [];
  const connect = (address: string): Socket => {
    const socket = new Socket();
    attempts.set(address, socket);
    return socket;
  };
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  const deadline = performance.now() + 5_000;
  raceConnections({ addresses: all, port: 443, deadline, connect }, (error, socket) => {
    results.push(error ?? socket);
  });
  const open = (): string[] => [...attempts].flatMap(([ip, socket]) => (socket.destroyed ? [] : ip));
  return { attempts, results, open };
}

const refusal = (address: string): Error =>
  Object.assign(new Error(`connect ECONNREFUSED ${address}`), { code: 'ECONNREFUSED', address });

test('attempts begin 250 ms apart, families in turn, and the first one may still win', () => {
  const { attempts, results, open } = race('::1', '::2', '::3', '127.0.0.1');
  expect(open()).toEqual(['::1']);
  jest.advanceTimersByTime(249);
  expect(open()).toEqual(['::1']);
  jest.advanceTimersByTime(10);
  expect(open()).toEqual(['::1', '127.0.0.1']);
  jest.advanceTimersByTime(250);
  expect(open()).toEqual(['::1', '127.0.0.1', '::2']);
  const winner = attempts.get('::1');
  winner?.emit('connect');
  jest.advanceTimersByTime(10_000);
  expect([results, open(), attempts.size]).toEqual([[winner], ['::1'], 3]);
  expect([winner?.listenerCount('connect'), winner?.listenerCount('error')]).toEqual([0, 0]);
});

test('the next attempt begins when one fails, and the error contains the errors of all attempts', () => {
  const { attempts, results, open } = race('127.0.0.1', '127.0.0.2');
  attempts.get('127.0.0.1')?.destroy().emit('error', refusal('127.0.0.1'));
  expect(open()).toEqual(['127.0.0.2']);
  attempts.get('127.0.0.2')?.destroy().emit('error', refusal('127.0.0.2'));
  expect(results).toMatchObject([
    { code: 'ECONNREFUSED', errors: [{ address: '127.0.0.1' }, { address: '127.0.0.2' }] },
  ]);
});

test('no more than four attempts are open, and none long after the deadline', () => {
  const { attempts, results, open } = race(...Array.from({ length: 12 }, (_, index) => `127.0.0.${index}`));
  jest.advanceTimersByTime(4_000);
  expect([attempts.size, open()]).toEqual([12, [...attempts.keys()].slice(8)]);
  jest.advanceTimersByTime(1_500);
  expect(results).toEqual([]);
  jest.advanceTimersByTime(1_000);
  expect([results, open()]).toMatchObject([[{ code: 'ETIMEDOUT' }], []]);
});
