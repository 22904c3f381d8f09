import { expect, test } from '@jest/globals';
import { workForShare } from '@tocsin/db/database/work-share';
import { setImmediate as afterIo } from 'node:timers/promises';

const slice = async (): Promise<string> => 'done';

test('a slice is followed by a pause, which the signal ends', async () => {
  const shutdown = new AbortController();
  let ended = false;
  const working = workForShare(1e-9, shutdown.signal, slice).finally(() => (ended = true));
  await afterIo();
  expect(ended).toBe(false);
  shutdown.abort();
  expect(await working).toBe('done');
});

test('a share of 1 means no pause', async () => {
  expect(await workForShare(1, undefined, slice)).toBe('done');
});

test('a slice that fails is not followed by a pause', async () => {
  const failing = workForShare(1e-9, undefined, () => Promise.reject(new Error('out of disk')));
  await expect(failing).rejects.toThrow('out of disk');
});
