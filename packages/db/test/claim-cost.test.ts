import { beforeEach, describe, expect, test } from '@jest/globals';
import { updateChannel } from '@tocsin/db/channels/write-channels';
import type { Database, Transaction } from '@tocsin/db/database/open';
import { claimDeliveries, type ClaimedDelivery } from '@tocsin/db/deliveries/claim-deliveries';
import type { ClaimScope } from '@tocsin/db/deliveries/next-deliveries';
import { recordDelivered } from '@tocsin/db/deliveries/record-attempt';
import { createTestDelivery } from '@tocsin/db/deliveries/test-deliveries';
import { sql } from 'drizzle-orm';
import { alertOf, attemptOf, endLeases, makeChannel, recordOutcome, redeliverAll } from './delivery-steps.ts';
import { keepStatistics, makeMonitor, useTestContext } from './harness.ts';

const context = await useTestContext();
const { db, accountId, actor } = context;

await keepStatistics(context);

interface Cost {
  /** Look-ups in the indexes of deliveries and status changes. */
  readonly lookUps: number;
  /** Counts rows of deliveries and status changes, and entries in their indexes. */
  readonly rowsRead: number;
}

/** Returns what this connection has read and not yet reported, including earlier transactions. */
async function readCounts(tx: Transaction): Promise<{ scans: number; read: number }> {
  const { rows } = await tx.execute<{ scans: number; read: number }>(sql`
    select sum(pg_stat_get_xact_numscans(indexrelid))::int as scans,
      (sum(pg_stat_get_xact_tuples_returned(indexrelid)) + pg_stat_get_xact_tuples_returned('deliveries'::regclass)
        + pg_stat_get_xact_tuples_returned('status_changes'::regclass))::int as read
    from pg_index where indrelid in ('deliveries'::regclass, 'status_changes'::regclass)`);
  return rows[0] ?? { scans: NaN, read: NaN };
}

/** Measures the cost of some work in a transaction. */
async function costOf(work: (tx: Transaction) => Promise<unknown>): Promise<Cost> {
  return db.transaction(async (tx) => {
    const before = await readCounts(tx);
    await work(tx);
    const after = await readCounts(tx);
    return { lookUps: after.scans - before.scans, rowsRead: after.read - before.read };
  });
}

type Claim = Cost & { readonly claimed: readonly ClaimedDelivery[] };

async function claim(scope: ClaimScope = { limit: 100 }): Promise<Claim> {
  let claimed: readonly ClaimedDelivery[] = [];
  const cost = await costOf(async (tx) => (claimed = await claimDeliveries({ ...context, db: tx }, scope)));
  return { ...cost, claimed };
}

const channelsOf = ({ claimed }: Claim): string[] => claimed.map(({ channelId }) => channelId).toSorted();

beforeEach(() => db.execute(sql`truncate monitors, channels, status_changes, deliveries cascade`));

test('a claim visits only channels with pending deliveries', async () => {
  const busy = [await makeChannel(context, []), await makeChannel(context, [])];
  await db.execute(sql`
    insert into channels (id, account_id, name, url, sealed_secret)
    select gen_random_uuid(), account_id, name, url, sealed_secret from channels, generate_series(1, 1000)
    where id = ${busy[0]}`);
  await db.execute(sql`analyze channels`);
  const idle = await claim();
  expect(channelsOf(idle)).toEqual([]);
  await db.execute(sql`update channels set all_monitors = true where id = any(${sql.param(busy)}::uuid[])`);
  await alertOf(context, (await makeMonitor(context)).id, 'DOWN');
  const claimed = await claim();
  expect(channelsOf(claimed)).toEqual(busy.toSorted());
  expect([idle, claimed].every(({ lookUps }) => lookUps < 100)).toBe(true);
});

test('a claim searches one channel for each delivery that it takes, plus those without one to take', async () => {
  const channelId = await makeChannel(context, []);
  await db.execute(sql`
    insert into channels (id, account_id, name, url, sealed_secret)
    select gen_random_uuid(), account_id, name, url, sealed_secret from channels, generate_series(2, 200)
    where id = ${channelId}`);
  // In ten of the channels, all deliveries wait for one that is not due. They have been due for longer than the others.
  await db.execute(sql`
    insert into deliveries (id, account_id, channel_id, status_change_id, monitor_id, event, timestamp, payload, state,
      next_attempt_at)
    select gen_random_uuid(), ${accountId}, c.id, gen_random_uuid(), case when c.number > 10 then gen_random_uuid() else c.id end,
      'monitor.down', now() + i * interval '1 second', c.number, 'pending',
      case when c.number > 10 then now() else now() + case i when 1 then 1 else -1 end * interval '1 hour' end
    from (select id, row_number() over () as number from channels) c, generate_series(1, 20) i`);
  const { claimed, lookUps } = await claim({ limit: 5 });
  expect(new Set(claimed.map(({ payload }) => Number(payload) > 10 && payload)).size).toBe(5);
  expect(lookUps).toBeLessThan(3_000);
});

const BACKLOG = 20_000;
/** A claim reads far fewer rows than the backlog has, whatever its length. */
const MAX_ROWS_READ = 1_000;

/** Adds deliveries to one channel, a minute apart, for one monitor or for one monitor each. The planner has no statistics about them. */
async function addDeliveries(
  count: number,
  fields: { channelId: string; state: string; attempts?: number; manyMonitors?: true },
): Promise<void> {
  await db.execute(sql`
    insert into deliveries (id, account_id, channel_id, status_change_id, monitor_id, event, timestamp, payload, state,
      round_attempt_count, next_attempt_at)
    select gen_random_uuid(), ${accountId}, ${fields.channelId}, gen_random_uuid(),
      case when ${fields.manyMonitors === true} then gen_random_uuid() else ${fields.channelId} end, 'monitor.down',
      now() - (${count}::int - i) * interval '1 minute', i, ${fields.state},
      ${fields.attempts ?? 0}, case when ${fields.attempts ?? 0}::int > 0 or ${fields.manyMonitors === true} then now() - (${count}::int - i) * interval '1 minute' end
    from generate_series(1, ${count}::int) i`);
}

/** Adds status changes of a monitor whose deliveries were made long ago. */
async function addStatusChanges(count: number, monitorId: string): Promise<void> {
  await db.execute(sql`
    insert into status_changes (id, account_id, monitor_id, from_status, to_status, region, timestamp, webhook_events,
      channel_ids, dispatched_at)
    select gen_random_uuid(), ${accountId}, ${monitorId}, 'UP', 'DOWN', 'default', now() - i * interval '1 hour', '[]',
      '{}', now()
    from generate_series(1, ${count}::int) i`);
}

describe('a backlog that was attempted before', () => {
  test.each([
    ['tables without planner statistics', false],
    ['tables that the planner knows with some delivered rows', true],
  ])(
    'in %s: a claim takes the deliveries that have been due longest, with a bounded cost',
    async (_, known) => {
      const [channelId, other] = [await makeChannel(context, []), await makeChannel(context, [])];
      if (known) {
        await addDeliveries(3, { channelId: other, state: 'delivered' });
        await db.execute(sql`vacuum analyze deliveries`);
      }
      await addDeliveries(BACKLOG, { channelId, state: 'pending', attempts: 1 });
      const { claimed, rowsRead } = await claim();
      expect(rowsRead).toBeLessThan(MAX_ROWS_READ);
      expect(claimed.map(({ payload }) => Number(payload)).toSorted((one, two) => one - two)).toEqual(
        Array.from({ length: 10 }, (__, index) => index + 1),
      );
      await updateChannel(context, actor, channelId, { enabled: false });
      const testId = await createTestDelivery(db, actor, channelId, 'default');
      await endLeases(context);
      const disabled = await claim();
      expect(disabled.rowsRead).toBeLessThan(MAX_ROWS_READ);
      expect(disabled.claimed.map(({ id }) => id)).toEqual([testId]);
    },
  );
});

describe('a released backlog of one monitor', () => {
  test.each([
    ['in tables without planner statistics', [], 0],
    ['in a table that the planner knows as a log of delivered rows', ['delivered'], BACKLOG],
    [
      'in tables that the planner knows with some rows of each kind',
      ['delivered', 'held', 'failed', 'pending'],
      1,
    ],
  ])('%s: a claim has a bounded cost, and other monitors are not delayed', async (_, states, count) => {
    const [channelId, other] = [await makeChannel(context), await makeChannel(context, [])];
    for (const state of states) await addDeliveries(count, { channelId: other, state });
    if (count > 0) {
      await addStatusChanges(3, other);
      await db.execute(sql`vacuum analyze deliveries, status_changes`);
    }
    await addStatusChanges(BACKLOG, channelId);
    await addDeliveries(BACKLOG, { channelId, state: 'held' });
    expect(await redeliverAll(context, channelId)).toHaveLength(BACKLOG);
    const seen: string[] = [];
    for (let round = 0; round < 3; round += 1) {
      const { claimed, rowsRead } = await claim();
      expect(rowsRead).toBeLessThan(MAX_ROWS_READ);
      seen.push(...claimed.map(({ payload }) => payload));
      for (const delivery of claimed) await recordOutcome(context, delivery, { kind: 'delivered' });
    }
    expect(seen).toEqual(['1', '2', '3']);
    await db.execute(sql`
      update deliveries set round_attempt_count = 1, attempt_count = 1 where payload = ${`${BACKLOG}`} and channel_id = ${channelId}`);
    const { id: monitorId } = await makeMonitor(context);
    const [first] = await alertOf(context, monitorId, 'DOWN');
    const { claimed, rowsRead } = await claim();
    expect(rowsRead).toBeLessThan(MAX_ROWS_READ);
    expect(claimed.map(({ payload, id }) => (id === first ? 'new' : payload)).toSorted()).toEqual([
      `${BACKLOG}`,
      '4',
      'new',
    ]);
  });
});

test('a plan for small tables keeps its cost after they have grown, even with the highest limit', async () => {
  const [channelId, other] = [await makeChannel(context, []), await makeChannel(context, [])];
  const record = (tx: Database, claimed: readonly ClaimedDelivery[]): Promise<void> =>
    recordDelivered(
      tx,
      claimed.map((delivery) => attemptOf(delivery, { kind: 'delivered' })),
    );
  await addDeliveries(20, { channelId: other, state: 'pending', attempts: 1 });
  await db.execute(sql`vacuum analyze deliveries, attempts, status_changes, channels`);
  // After a few executions, a session keeps the plan of a statement.
  for (let round = 0; round < 10; round += 1) {
    const { claimed } = await claim({ limit: 1 });
    await record(db, claimed);
  }
  await db.execute(sql`update channels set attempt_limit = 50`);
  await addDeliveries(BACKLOG, { channelId: other, state: 'pending', attempts: 1 });
  await addDeliveries(BACKLOG, { channelId, state: 'pending', manyMonitors: true });
  const { claimed, rowsRead } = await claim();
  expect(claimed).toHaveLength(100);
  expect(rowsRead).toBeLessThan(2_500);
  const recorded = await costOf((tx) => record(tx, claimed.slice(0, 1)));
  expect(recorded.rowsRead).toBeLessThan(150);
});
