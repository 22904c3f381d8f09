import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { statusChangeSchema } from '@tocsin/contracts/monitors/events';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { ensureEventPartitions } from '@tocsin/db/events/partitions';
import { listEvents, tailEvents } from '@tocsin/db/events/read-events';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { listMonitorTimestamps } from '@tocsin/db/monitors/timestamps';
import type { TimestampRange } from '@tocsin/db/monitors/timestamps';
import { tailStatusChanges } from '@tocsin/db/status-changes/tail-status-changes';
import { accounts } from '@tocsin/db/users/table';
import { until } from '@tocsin/embedded/testing/until';
import { sql } from 'drizzle-orm';
import { checkOf, failureOf, makeMonitor, openTestContext, readClock, type TestContext } from './harness.ts';
import { checksOf, DAY_MS, HOUR_MS, insertRows } from './packing-data.ts';

const MINUTE_MS = 60_000;

let context: TestContext;
let stranger: string;
beforeAll(async () => {
  context = await openTestContext();
  stranger = randomUUID();
  await context.db.insert(accounts).values({ id: stranger, name: 'Other' });
});
afterAll(() => context.close());

async function timestampOf(id: string): Promise<number> {
  const { timestamps } = await listMonitorTimestamps(context.db, context.accountId, null);
  return timestamps.get(id) ?? NaN;
}

async function rangeOf(monitorId: string, after: number | null = null): Promise<TimestampRange> {
  return { monitorId, after, upTo: await timestampOf(monitorId) };
}

test('listMonitorTimestamps returns the timestamps of the account after an instant', async () => {
  const [silent, early, late] = await Promise.all([1, 2, 3].map(() => makeMonitor(context)));
  if (!silent || !early || !late) throw new Error('not made');
  await recordChecks(context.db, [checkOf(early.id)]);
  const since = await timestampOf(early.id);
  await until('the next millisecond', async () => (await readClock(context)) >= since + 1);
  await recordChecks(context.db, [checkOf(late.id)]);
  const all = await listMonitorTimestamps(context.db, context.accountId, null);
  expect([...all.timestamps.keys()]).toEqual(expect.arrayContaining([early.id, late.id]));
  expect(all.timestamps.has(silent.id)).toBe(false);
  expect(all.now).toBeGreaterThanOrEqual(since);
  const later = await listMonitorTimestamps(context.db, context.accountId, since);
  expect([later.timestamps.has(early.id), later.timestamps.has(late.id)]).toEqual([false, true]);
  const others = await listMonitorTimestamps(context.db, stranger, null);
  expect([others.timestamps.size, others.now >= all.now]).toEqual([0, true]);
});

test('tailEvents returns exactly the events of the account in the ranges, oldest first', async () => {
  const [one, two] = [await makeMonitor(context), await makeMonitor(context, { name: 'Two' })];
  for (let round = 0; round < 3; round += 1) {
    await recordChecks(context.db, [checkOf(one.id), checkOf(two.id)]);
  }
  const list = (id: string): ReturnType<typeof listEvents> =>
    listEvents(context.db, context.accountId, id, { limit: 10 });
  const [ofOne, ofTwo] = [await list(one.id), await list(two.id)];
  const second = Date.parse(ofOne[1]?.timestamp ?? '');
  const ranges = [{ ...(await rangeOf(one.id)), upTo: second }, await rangeOf(two.id, second)];
  const expected = [...ofOne.slice(0, 2), ...ofTwo.filter(({ timestamp }) => Date.parse(timestamp) > second)];
  const tail = await tailEvents(context.db, context.accountId, ranges, 10);
  expect(tail).toEqual(expected);
  expect(await tailEvents(context.db, context.accountId, ranges, 1)).toEqual(expected.slice(0, 1));
  expect(await tailEvents(context.db, context.accountId, [], 10)).toEqual([]);
  expect(await tailEvents(context.db, stranger, ranges, 10)).toEqual([]);
});

describe('listEvents returns the latest events', () => {
  test('of an old monitor that is rarely checked, whatever their age', async () => {
    const { id: monitorId } = await makeMonitor(context);
    const now = Math.floor(await readClock(context));
    const checks = [100, 20, 3, 0].flatMap((days) =>
      checksOf({ monitorId, start: now - days * DAY_MS - HOUR_MS, count: 1 }),
    );
    for (const { timestamp } of checks) await ensureEventPartitions(context.db, { now: timestamp });
    await insertRows(context, checks);
    const times = checks.map(({ timestamp }) => timestamp);
    for (const limit of [1, 2, 3, 4, 5]) {
      const events = await listEvents(context.db, context.accountId, monitorId, { limit });
      expect(events.map(({ timestamp }) => Date.parse(timestamp))).toEqual(times.slice(-limit));
    }
  });

  test('even if one is older than its monitor, because the clock was set back', async () => {
    const { id: monitorId } = await makeMonitor(context);
    const dayAgo = Math.floor(await readClock(context)) - DAY_MS;
    await ensureEventPartitions(context.db, { now: dayAgo - HOUR_MS });
    await insertRows(context, checksOf({ monitorId, start: dayAgo - 30 * MINUTE_MS, count: 1 }));
    const created = new Date(dayAgo + 20 * MINUTE_MS).toISOString();
    await context.db.execute(sql`update monitors set created_at = ${created} where id = ${monitorId}`);
    expect(await listEvents(context.db, context.accountId, monitorId, { limit: 10 })).toHaveLength(1);
  });
});

test('tailStatusChanges returns announced and silent changes with the reason, and none of a deleted monitor', async () => {
  const { id } = await makeMonitor(context);
  await recordChecks(context.db, [checkOf(id)]);
  await recordChecks(context.db, [failureOf(id)]);
  await recordChecks(context.db, [checkOf(id)]);
  const ranges = [await rangeOf(id)];
  const changes = await tailStatusChanges(context.db, context.accountId, ranges, 10);
  expect(
    changes.map(({ previousStatus, status, errorReason }) => [previousStatus, status, errorReason]),
  ).toEqual([
    ['PENDING', 'UP', null],
    ['UP', 'DOWN', 'HTTP_500'],
    ['DOWN', 'UP', null],
  ]);
  for (const change of changes) expect(statusChangeSchema.parse(change).monitorName).toBe('Shop');
  expect(await tailStatusChanges(context.db, stranger, ranges, 10)).toEqual([]);
  await deleteMonitor(context.db, systemActor(context.accountId), id);
  expect(await tailStatusChanges(context.db, context.accountId, ranges, 10)).toEqual([]);
});
