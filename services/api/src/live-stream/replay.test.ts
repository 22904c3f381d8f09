import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { listMonitorTimestamps } from '@tocsin/db/monitors/timestamps';
import { newMonitor, recordCheck } from '../testing/monitors.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';
import { readRecords } from './replay.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

test('an event and the silent status change with its timestamp are never split', async () => {
  for (let index = 0; index < 3; index += 1) await recordCheck(api, (await newMonitor(api)).id);
  const { db } = api.context;
  const { timestamps } = await listMonitorTimestamps(db, api.account.id, null);
  const ranges = Array.from(timestamps, ([monitorId, upTo]) => ({ monitorId, after: null, upTo }));
  const read = async (limit: number): Promise<[string[], boolean]> => {
    const { records, complete } = await readRecords(db, api.account.id, ranges, limit);
    return [records.map(({ kind, record }) => `${kind} ${record.monitorId}`), complete];
  };
  const [all, complete] = await read(6);
  const ids = [...timestamps]
    .toSorted(([id, one], [otherId, other]) => one - other || (id < otherId ? -1 : 1))
    .map(([id]) => id);
  expect(complete).toBe(true);
  expect(all).toEqual(ids.flatMap((id) => [`check ${id}`, `status-change ${id}`]));
  expect(await read(5)).toEqual([all.slice(0, 4), false]);
  expect(await read(4)).toEqual([all.slice(0, 4), false]);
  expect(await read(3)).toEqual([all.slice(0, 2), false]);
  expect(await read(2)).toEqual([all.slice(0, 2), false]);
});
