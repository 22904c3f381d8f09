import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { statusChangeSchema } from '@tocsin/contracts/monitors/events';
import { type MonitorStates, monitorStatesSchema, type PeriodQuery } from '@tocsin/contracts/monitors/stats';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { ensureEventPartitions } from '@tocsin/db/events/partitions';
import { listEvents, tailEvents } from '@tocsin/db/events/read-events';
import { incidents } from '@tocsin/db/incidents/table';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { listMonitorTimestamps, type TimestampRange } from '@tocsin/db/monitors/timestamps';
import { getMonitorStates } from '@tocsin/db/status-changes/read-states';
import { statusChanges } from '@tocsin/db/status-changes/table';
import { tailStatusChanges } from '@tocsin/db/status-changes/tail-status-changes';
import { accounts } from '@tocsin/db/users/table';
import { sql } from 'drizzle-orm';
import { checkOf, failureOf, makeMonitor, openTestContext, readClock } from './harness.ts';
import { checksOf, DAY_MS, HOUR_MS, insertRows } from './packing-data.ts';

const context = await openTestContext();
const { db, accountId, actor } = context;
afterAll(() => context.close());

const MINUTE_MS = 60_000;

describe('the states of a monitor', () => {
  let id: string;
  /** Postgres' clock when the test began. */
  let now: number;
  beforeEach(async () => {
    ({ id } = await makeMonitor(context));
    now = Math.floor(await readClock(context));
  });

  type Change = readonly [status: 'PENDING' | 'UP' | 'DOWN' | 'MAINTENANCE', at: number];

  /** Creates the past of the monitor from its first status and its changes, in this order. */
  async function insertPast([[first, createdAt], ...later]: readonly [Change, ...Change[]]): Promise<void> {
    const changes = later.map(([toStatus, at], index): typeof statusChanges.$inferInsert => ({
      accountId,
      monitorId: id,
      fromStatus: later[index - 1]?.[0] ?? first,
      toStatus,
      region: 'default',
      timestamp: new Date(at),
      webhookEvents: [],
      channelIds: [],
    }));
    if (changes.length > 0) await db.insert(statusChanges).values(changes);
    await db.execute(sql`
    update monitors set last_checked_at = now(), created_at = ${new Date(createdAt).toISOString()}, status = ${later.at(-1)?.[0] ?? first}
    where id = ${id}`);
  }

  /** @param resolvedAt null for an open incident */
  async function insertIncident(openedAt: number, resolvedAt: number | null): Promise<string> {
    const incidentId = randomUUID();
    await db.insert(incidents).values({
      id: incidentId,
      accountId,
      monitorId: id,
      openedAt: new Date(openedAt),
      resolvedAt: resolvedAt === null ? null : new Date(resolvedAt),
      cause: 'HTTP_503',
      errorDetail: 'responded with 503',
      region: 'default',
    });
    return incidentId;
  }

  async function read(query: PeriodQuery, retentionDays = 90): Promise<MonitorStates> {
    const states = await getMonitorStates(db, accountId, id, { query, retentionDays });
    const { periods, from, to } = monitorStatesSchema.parse(states);
    // Every moment in the period is in exactly one of its parts.
    expect(periods.map((period) => period.from)).toEqual([
      from,
      ...periods.slice(0, -1).map((period) => period.to),
    ]);
    expect(periods.at(-1)?.to).toBe(to);
    return states;
  }

  /** Returns a period from and to these times before `now`. */
  function past(fromAgo: number, toAgo = 0): PeriodQuery {
    return { from: new Date(now - fromAgo), to: new Date(now - toAgo) };
  }

  /** Lists the parts as status and length in milliseconds. */
  function partsOf({ periods }: MonitorStates): [status: string | null, ms: number][] {
    return periods.map(({ status, from, to }) => [status, Date.parse(to) - Date.parse(from)]);
  }

  test('an outage of 90 s has its true place and length in 90 days, with its incident', async () => {
    const downAt = now - 40 * DAY_MS - 1_234;
    await insertPast([
      ['UP', now - 200 * DAY_MS],
      ['DOWN', downAt],
      ['UP', downAt + 90_000],
    ]);
    const incidentId = await insertIncident(downAt, downAt + 90_000);
    const { periods, ...totals } = await read({ window: '90d' });
    expect(totals).toMatchObject({ downSeconds: 90, incidents: 1 });
    expect(periods.map(({ status }) => status)).toEqual(['UP', 'DOWN', 'UP']);
    expect(periods[1]).toEqual({
      status: 'DOWN',
      from: new Date(downAt).toISOString(),
      to: new Date(downAt + 90_000).toISOString(),
      count: 1,
      downSeconds: 90,
      incidentId,
      cause: 'HTTP_503',
      errorDetail: 'responded with 503',
    });
  });

  test('nothing is known before the monitor was created', async () => {
    await insertPast([
      ['PENDING', now - 3 * MINUTE_MS],
      ['UP', now - 2 * MINUTE_MS],
    ]);
    const states = await read(past(HOUR_MS));
    expect(partsOf(states)).toEqual([
      [null, 57 * MINUTE_MS],
      ['PENDING', MINUTE_MS],
      ['UP', 2 * MINUTE_MS],
    ]);
    expect(states).toMatchObject({ downSeconds: 0, knownSeconds: 180, incidents: 0 });
    expect(partsOf(await read(past(HOUR_MS, 10 * MINUTE_MS)))).toEqual([[null, 50 * MINUTE_MS]]);
  });

  test('a part has the status that began and ended it', async () => {
    await insertPast([
      ['UP', now - DAY_MS],
      ['DOWN', now - 50 * MINUTE_MS],
      ['MAINTENANCE', now - 40 * MINUTE_MS],
      ['DOWN', now - 30 * MINUTE_MS],
      ['UP', now - 10 * MINUTE_MS],
    ]);
    const incidentId = await insertIncident(now - 50 * MINUTE_MS, now - 10 * MINUTE_MS);
    expect(partsOf(await read(past(45 * MINUTE_MS, 20 * MINUTE_MS)))).toEqual([
      ['DOWN', 5 * MINUTE_MS],
      ['MAINTENANCE', 10 * MINUTE_MS],
      ['DOWN', 10 * MINUTE_MS],
    ]);
    expect(partsOf(await read(past(28 * MINUTE_MS, 20 * MINUTE_MS)))).toEqual([['DOWN', 8 * MINUTE_MS]]);
    expect(partsOf(await read(past(8 * MINUTE_MS)))).toEqual([['UP', 8 * MINUTE_MS]]);
    const { periods, ...totals } = await read(past(HOUR_MS));
    expect(totals).toMatchObject({ downSeconds: 30 * 60, incidents: 1 });
    expect(periods.map((period) => period.incidentId)).toEqual([null, incidentId, null, incidentId, null]);
  });

  test('an open outage lasts until now', async () => {
    await recordChecks(db, [failureOf(id)]);
    const { periods, incidents } = await read({ window: '1h' });
    expect(incidents).toBe(1);
    expect(periods.at(-1)).toMatchObject({ status: 'DOWN', cause: 'HTTP_500' });
  });

  test('outages are known longer than other statuses', async () => {
    await insertPast([
      ['UP', now - 100 * DAY_MS],
      ['DOWN', now - 20 * DAY_MS - HOUR_MS],
      ['UP', now - 9 * DAY_MS],
      ['MAINTENANCE', now - HOUR_MS],
      ['UP', now],
    ]);
    await insertIncident(now - 30 * DAY_MS, now - 29 * DAY_MS);
    const incidentId = await insertIncident(now - 20 * DAY_MS - HOUR_MS, now - 9 * DAY_MS);
    const states = await read(past(40 * DAY_MS), 10);
    expect(partsOf(states).map(([status, ms]) => [status, Math.round(ms / HOUR_MS)])).toEqual([
      [null, 240],
      ['DOWN', 24],
      [null, 24 * 9 - 1],
      ['DOWN', 24 * 11 + 1],
      ['UP', 24 * 9 - 1],
      ['MAINTENANCE', 1],
    ]);
    expect(states.periods[3]).toMatchObject({ incidentId, count: 1 });
    expect(states.incidents).toBe(2);
  });

  test('a group of short periods has the status of the longest, or DOWN if the monitor was down in it', async () => {
    await insertPast([
      ['PENDING', now - 17 * MINUTE_MS],
      ['UP', now - 17 * MINUTE_MS + 200],
    ]);
    const { periods } = await read({ window: '90d' });
    expect(periods.at(-1)).toMatchObject({ status: 'UP', count: 2, downSeconds: 0 });
    await insertPast([
      ['PENDING', now - 17 * MINUTE_MS],
      ['DOWN', now - 16 * MINUTE_MS],
      ['UP', now - 15 * MINUTE_MS],
    ]);
    expect((await read({ window: '90d' })).periods.at(-1)).toMatchObject({ status: 'DOWN', downSeconds: 60 });
  });

  test('a flapping monitor has a bounded number of periods, with the whole time that it was down', async () => {
    const count = 5_000;
    const start = now - count * 6_000;
    await db.execute(sql`
      insert into status_changes (id, account_id, monitor_id, from_status, to_status, region, timestamp, webhook_events,
        channel_ids)
      select gen_random_uuid(), ${accountId}, ${id}, (array['UP', 'DOWN'])[1 + i % 2], (array['DOWN', 'UP'])[1 + i % 2],
        'default', ${new Date(start).toISOString()}::timestamptz + i * interval '6 s', '[]', '{}'
      from generate_series(0, ${count - 1}::int) i`);
    await db.execute(sql`
    update monitors set last_checked_at = now(), created_at = ${new Date(start - DAY_MS).toISOString()}, status = 'UP' where id = ${id}`);
    const all = await read(past(2 * DAY_MS));
    expect(all.periods.reduce((sum, { downSeconds }) => sum + downSeconds, 0)).toBeCloseTo((count / 2) * 6);
    expect(all.periods.length).toBeLessThan(2_004);
    // In a shorter period, each has its own time again.
    const close = await read(past(HOUR_MS));
    expect(close.periods).toHaveLength(600);
    expect(close.periods.every(({ count: own }) => own === 1)).toBe(true);
  });

  test('the future has no status, and a period in it is refused', async () => {
    await insertPast([['UP', now - DAY_MS]]);
    const states = await read({ from: new Date(now - HOUR_MS), to: new Date(now + HOUR_MS) });
    expect(Date.parse(states.to)).toBeLessThan(now + HOUR_MS);
    const future = { from: new Date(now + HOUR_MS), to: new Date(now + 2 * HOUR_MS) };
    await expect(read(future)).rejects.toMatchObject({
      code: 'validation_failed',
      errors: [{ path: 'from', message: 'must be in the past' }],
    });
  });

  test('a monitor of another account is not found', async () => {
    const request = { query: {}, retentionDays: 90 };
    await expect(getMonitorStates(db, randomUUID(), id, request)).rejects.toMatchObject({
      code: 'not_found',
    });
  });
});

const stranger = randomUUID();
beforeAll(() => db.insert(accounts).values({ id: stranger, name: 'Other' }));

async function timestampOf(id: string): Promise<number> {
  const { timestamps } = await listMonitorTimestamps(db, accountId, null);
  return timestamps.get(id) ?? NaN;
}

async function rangeOf(monitorId: string, after: number | null = null): Promise<TimestampRange> {
  return { monitorId, after, upTo: await timestampOf(monitorId) };
}

test('tailEvents returns exactly the events of the account in the ranges, oldest first', async () => {
  const [one, two] = [await makeMonitor(context), await makeMonitor(context, { name: 'Two' })];
  for (let round = 0; round < 3; round += 1) {
    await recordChecks(db, [checkOf(one.id), checkOf(two.id)]);
  }
  const list = (id: string): ReturnType<typeof listEvents> => listEvents(db, accountId, id, { limit: 10 });
  const [ofOne, ofTwo] = [await list(one.id), await list(two.id)];
  const second = Date.parse(ofOne[1]?.timestamp ?? '');
  const ranges = [{ ...(await rangeOf(one.id)), upTo: second }, await rangeOf(two.id, second)];
  const expected = [...ofOne.slice(0, 2), ...ofTwo.filter(({ timestamp }) => Date.parse(timestamp) > second)];
  const tail = await tailEvents(db, accountId, ranges, 10);
  expect(tail).toEqual(expected);
  expect(await tailEvents(db, accountId, ranges, 1)).toEqual(expected.slice(0, 1));
  expect(await tailEvents(db, accountId, [], 10)).toEqual([]);
  expect(await tailEvents(db, stranger, ranges, 10)).toEqual([]);
});

describe('listEvents returns the latest events', () => {
  test('of an old monitor that is rarely checked, whatever their age', async () => {
    const { id: monitorId } = await makeMonitor(context);
    const now = Math.floor(await readClock(context));
    const checks = [100, 20, 3, 0].flatMap((days) =>
      checksOf({ monitorId, start: now - days * DAY_MS - HOUR_MS, count: 1 }),
    );
    for (const { timestamp } of checks) await ensureEventPartitions(db, { now: timestamp });
    await insertRows(context, checks);
    const times = checks.map(({ timestamp }) => timestamp);
    for (const limit of [1, 2, 3, 4, 5]) {
      const events = await listEvents(db, accountId, monitorId, { limit });
      expect(events.map(({ timestamp }) => Date.parse(timestamp))).toEqual(times.slice(-limit));
    }
  });

  test('even if one is older than its monitor, because the clock was set back', async () => {
    const { id: monitorId } = await makeMonitor(context);
    const dayAgo = Math.floor(await readClock(context)) - DAY_MS;
    await ensureEventPartitions(db, { now: dayAgo - HOUR_MS });
    await insertRows(context, checksOf({ monitorId, start: dayAgo - 30 * MINUTE_MS, count: 1 }));
    const created = new Date(dayAgo + 20 * MINUTE_MS).toISOString();
    await db.execute(sql`update monitors set created_at = ${created} where id = ${monitorId}`);
    expect(await listEvents(db, accountId, monitorId, { limit: 10 })).toHaveLength(1);
  });
});

test('tailStatusChanges returns announced and silent changes with the reason, and none of a deleted monitor', async () => {
  const { id } = await makeMonitor(context);
  await recordChecks(db, [checkOf(id)]);
  await recordChecks(db, [failureOf(id)]);
  await recordChecks(db, [checkOf(id)]);
  const ranges = [await rangeOf(id)];
  const changes = await tailStatusChanges(db, accountId, ranges, 10);
  expect(
    changes.map(({ previousStatus, status, errorReason }) => [previousStatus, status, errorReason]),
  ).toEqual([
    ['PENDING', 'UP', null],
    ['UP', 'DOWN', 'HTTP_500'],
    ['DOWN', 'UP', null],
  ]);
  for (const change of changes) expect(statusChangeSchema.parse(change).monitorName).toBe('Shop');
  expect(await tailStatusChanges(db, stranger, ranges, 10)).toEqual([]);
  await deleteMonitor(db, actor, id);
  expect(await tailStatusChanges(db, accountId, ranges, 10)).toEqual([]);
});
