import { expect, test } from '@jest/globals';
import { until } from '@tocsin/embedded/testing/until';
import { newMonitor } from '../testing/monitors.ts';
import { newSignedInUser } from '../testing/sign-in.ts';
import { StreamReader } from '../testing/stream-reader.ts';
import { useTestApi } from '../testing/test-api.ts';
import { HeavyReads } from './heavy-reads.ts';

/** Accounts of the slices that wait until the test lets them run. */
const waiting: string[] = [];
let opened = Promise.resolve();
let open: () => void;
const all = new HeavyReads();
const heavyReads: Pick<HeavyReads, 'run'> = {
  run: async (accountId, signal, slice) => {
    waiting.push(accountId);
    await opened;
    return all.run(accountId, signal, slice);
  },
};
const api = await useTestApi({ heavyReads, streamLimits: { heartbeatMs: 50 } });
await newMonitor(api);
const user = await newSignedInUser(api);

function close(): void {
  waiting.length = 0;
  opened = new Promise((resolve) => (open = resolve));
}

test('lists, their versions, metrics, reports and opening streams take turns', async () => {
  close();
  const period = { from: new Date(Date.now() - 3_600_000).toISOString(), to: new Date().toISOString() };
  const requests = [
    api.as().get('/api/cli/monitors'),
    api.as().head('/api/cli/monitors'),
    api.as().get('/api/cli/monitors').set('If-None-Match', '"a"'),
    api.as().get('/api/cli/metrics'),
    user.agent.get('/api/dashboard/reports/availability').query(period),
  ].map((request) => request.then(({ status }) => status));
  const stream = StreamReader.open(api, { cookie: user.cookie });
  await until('all of them wait', () => waiting.length === 6);
  expect(new Set(waiting)).toEqual(new Set([api.account.id]));
  open();
  expect(await Promise.all(requests)).toEqual([200, 200, 200, 200, 200]);
  await (await stream).close();
});

test('the streams of a session share one session check', async () => {
  const readers: StreamReader[] = [];
  for (let count = 0; count < 3; count += 1)
    readers.push(await StreamReader.open(api, { cookie: user.cookie }));
  close();
  const beats = readers.map(({ heartbeats }) => heartbeats);
  await until('each has sent heartbeats', () =>
    readers.every(({ heartbeats }, index) => heartbeats > (beats[index] ?? 0) + 2),
  );
  expect(waiting).toHaveLength(1);
  open();
  for (const reader of readers) await reader.close();
});

test('two slices of an account run at a time, another account does not wait, and a withdrawn slice never runs', async () => {
  const reads = new HeavyReads();
  let end: () => void = () => undefined;
  const ended = new Promise<null>((resolve) => (end = () => resolve(null)));
  let running = 0;
  const slice = (): Promise<null> => {
    running += 1;
    return ended;
  };
  const [stays, leaves] = [new AbortController(), new AbortController()];
  const slices = Array.from({ length: 3 }, () => reads.run('a', stays.signal, slice));
  const left = reads.run('a', leaves.signal, slice);
  await until('two run', () => running === 2);
  const other = reads.run('b', stays.signal, slice);
  await until('the other account runs one', () => running === 3);
  leaves.abort();
  expect(await left).toBeNull();
  end();
  await Promise.all([...slices, other]);
  expect(running).toBe(4);
});
