import { isDeepStrictEqual } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { type DigestedMonitor, digestOf } from '@tocsin/contracts/live-stream/digest';
import { type Overview, overviewSchema } from '@tocsin/contracts/monitors/overview';
import { until } from '@tocsin/embedded/testing/until';
import { beginMaintenance } from '../testing/maintenance.ts';
import { newMonitor, recordCheck } from '../testing/monitors.ts';
import { newSignedInUser, type TestUser } from '../testing/sign-in.ts';
import { type Received, StreamReader } from '../testing/stream-reader.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

let api: TestApi;
let user: TestUser;
const readers: StreamReader[] = [];
beforeAll(async () => {
  // Every query sends a digest, and many records need several pages.
  api = await openTestApi({ streamLimits: { pollMs: 20, compareAllEvery: 0, pageRecords: 4 } });
  user = await newSignedInUser(api);
});
afterEach(async () => {
  await Promise.all(readers.splice(0).map((reader) => reader.close()));
});
afterAll(() => api.close());

async function readOverview(): Promise<Overview> {
  return overviewSchema.parse((await user.agent.get('/api/dashboard/overview')).body);
}

async function open(position: string): Promise<StreamReader> {
  const reader = await StreamReader.open(api, { cookie: user.cookie, position });
  readers.push(reader);
  return reader;
}

const digests = ({ received }: StreamReader): Received[] =>
  received.filter(({ event }) => event === 'digest');

/** Applies messages to a list as a client does. @returns how many digests it could compare, and those that differed */
function follow({ position, monitors }: Overview, received: readonly Received[]): [number, Received[]] {
  const list = new Map(monitors.map((one): [string, DigestedMonitor] => [one.id, one]));
  let compared = 0;
  const wrong: Received[] = [];
  for (const message of received) {
    const { event, id, data } = message;
    if (event === 'digest' && id > position) {
      compared += 1;
      if (digestOf(list.values()).statuses !== data['statuses']) wrong.push(message);
    }
    if (event !== 'status-change') continue;
    const change = data as { monitorId: string; timestamp: string; status: DigestedMonitor['status'] };
    const known = list.get(change.monitorId);
    if (known === undefined || change.timestamp < known.statusSince) continue;
    list.set(known.id, { ...known, status: change.status, statusSince: change.timestamp });
  }
  return [compared, wrong];
}

test('a digest is what the list leads to that was read before, at any moment', async () => {
  const monitors = await Promise.all([1, 2, 3, 4].map(() => newMonitor(api)));
  const followed: (readonly [Overview, StreamReader])[] = [];
  const over = new AbortController();
  const latest = (): StreamReader | undefined => followed.at(-1)?.[1];
  /** Without this, the streams could fall further and further behind. */
  async function keepUp(): Promise<void> {
    const reader = latest();
    if (reader === undefined) return;
    const { length } = digests(reader);
    await until(
      'another digest',
      () => over.signal.aborted || reader !== latest() || digests(reader).length > length,
    );
  }
  const writers = monitors.map(async ({ id }, number) => {
    for (let round = number; !over.signal.aborted; round += 1) {
      await recordCheck(api, id, round % 2 === 0);
      if (round % 3 === 0) await keepUp();
    }
  });
  for (let stream = 0; stream < 8; stream += 1) {
    const overview = await readOverview();
    const reader = await open(overview.position);
    followed.push([overview, reader]);
    await until('three digests', () => digests(reader).length >= 3);
  }
  over.abort();
  await Promise.all(writers);
  const results = followed.map(([overview, reader]) => follow(overview, reader.received));
  expect(results.map(([, wrong]) => wrong)).toEqual(results.map(() => []));
  expect(results.every(([compared]) => compared > 0)).toBe(true);
});

test('a digest covers created, edited, deleted and maintained monitors', async () => {
  const reader = await open((await readOverview()).position);
  const { id } = await newMonitor(api, { name: 'Before' });
  const seen = new Set<unknown>();
  /** Waits for a digest of what the overview shows now. */
  async function isSent(): Promise<void> {
    const { monitors } = await readOverview();
    const digest = digestOf(monitors);
    await until('the digest of the overview', () =>
      digests(reader).some(({ data }) => isDeepStrictEqual(data, digest)),
    );
    seen.add(JSON.stringify(digest));
  }
  await isSent();
  await recordCheck(api, id, true);
  await isSent();
  await api.as().put(`/api/cli/monitors/${id}`).send({ name: 'After' });
  await isSent();
  await beginMaintenance(api, user.agent, id);
  await isSent();
  await api.as().delete(`/api/cli/monitors/${id}`);
  await isSent();
  expect(seen.size).toBe(5);
});
