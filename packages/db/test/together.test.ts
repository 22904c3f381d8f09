import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { together } from '@tocsin/db/database/sql';
import { lockMonitors } from '@tocsin/db/status-changes/locked-monitor';
import { Client } from 'pg';
import { makeMonitor, openTestContext, type TestContext } from './harness.ts';

let context: TestContext;
beforeAll(async () => {
  context = await openTestContext();
});
afterAll(() => context.close());

test('statements that are sent together all end before the error of the first one is thrown', async () => {
  let respond: (() => void) | undefined;
  let ended = false;
  const slow = new Promise<void>((resolve) => (respond = resolve)).then(() => (ended = true));
  const all = together(slow, Promise.reject(new Error('refused')), Promise.reject(new Error('aborted')));
  setImmediate(() => respond?.());
  await expect(all).rejects.toThrow('refused');
  expect(ended).toBe(true);
});

test('the states of the regions are read behind the lock, without waiting for its response', async () => {
  const { id } = await makeMonitor(context);
  const query = jest.spyOn(Client.prototype, 'query');
  try {
    await context.db.transaction(async (tx) => {
      query.mockClear();
      const locking = lockMonitors(tx, [id]);
      const texts = query.mock.calls.map(([config]) => (config as unknown as { text: string }).text);
      expect(texts).toEqual([
        expect.stringContaining('for no key update skip locked'),
        expect.stringContaining('from "monitor_regions"'),
      ]);
      expect((await locking).get(id)?.regions).toMatchObject([{ region: 'default' }]);
    });
  } finally {
    query.mockRestore();
  }
});
