import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { channels } from '@tocsin/db/channels/table';
import { openDatabase, type Transaction } from '@tocsin/db/database/open';
import { claimDeliveries, type ClaimedDelivery } from '@tocsin/db/deliveries/claim-deliveries';
import { holdAllIfDisabled } from '@tocsin/db/deliveries/hold-deliveries';
import { deliveries } from '@tocsin/db/deliveries/table';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { dispatchStatusChanges, outboxBacklog } from '@tocsin/db/status-changes/dispatch-status-changes';
import { until } from '@tocsin/embedded/testing/until';
import { eq, sql } from 'drizzle-orm';
import {
  addDeliveries,
  alertOf,
  changeStatus,
  endLeases,
  makeChannel,
  readDeliveryLog,
  recordOutcome,
  withOtherAccount,
} from './delivery-steps.ts';
import { makeMonitor, openTestContext, untilWaiting } from './harness.ts';

const context = await openTestContext();
const { db, accountId, actor } = context;
afterAll(() => context.close());

let monitorId: string;
let channelId: string;
beforeEach(async () => {
  await db.execute(sql`truncate monitors, channels, status_changes, deliveries cascade`);
  monitorId = (await makeMonitor(context)).id;
  channelId = await makeChannel(context);
});

const change = (to: 'UP' | 'DOWN'): Promise<string> => changeStatus(context, monitorId, to);
const dispatch = () => dispatchStatusChanges(db, { limit: 100 });
const claim = (): Promise<ClaimedDelivery[]> => claimDeliveries(context, { limit: 100 });
const channelsOf = (claimed: readonly ClaimedDelivery[]): string[] => claimed.map((one) => one.channelId);

async function setChannel(values: Partial<typeof channels.$inferInsert>): Promise<void> {
  await db.update(channels).set(values).where(eq(channels.id, channelId));
}

describe('dispatchStatusChanges', () => {
  test('creates one delivery per event and channel, even with repeated and concurrent runs', async () => {
    await makeChannel(context);
    const statusChangeIds = [await change('DOWN')];
    expect(await outboxBacklog(db)).toMatchObject({ count: 1 });
    await Promise.all([
      dispatchStatusChanges(db, { statusChangeIds }),
      dispatch(),
      dispatchStatusChanges(db, { statusChangeIds }),
    ]);
    await dispatch();
    const { rows } = await db.execute(sql`select event, channel_id from deliveries`);
    expect(rows).toHaveLength(4);
    expect(await outboxBacklog(db)).toEqual({ count: 0, oldestSeconds: 0 });
  });

  test('a dispatch that crashes leaves nothing behind and is repeated completely', async () => {
    const statusChangeId = await change('DOWN');
    const crashing = db.transaction(async (tx) => {
      await dispatchStatusChanges(tx, { statusChangeIds: [statusChangeId] });
      throw new Error('crash before commit');
    });
    await expect(crashing).rejects.toThrow('crash');
    expect(await readDeliveryLog(db, channelId)).toEqual([]);
    await dispatch();
    expect(await readDeliveryLog(db, channelId)).toHaveLength(2);
  });

  test('a due alert is sent even if its monitor or its assignment is deleted', async () => {
    await change('DOWN');
    await deleteMonitor(db, actor, monitorId);
    await setChannel({ allMonitors: false });
    // The third one is the end of the incident.
    expect(await dispatch()).toMatchObject({ dueDeliveries: 3 });
    expect(await claim()).toHaveLength(1);
  });

  test('a channel assigned after the status change gets no delivery', async () => {
    await change('DOWN');
    const later = await makeChannel(context);
    await dispatch();
    expect(await readDeliveryLog(db, later)).toEqual([]);
  });

  test('splits a status change over its channels, and gives accounts equal shares', async () => {
    for (const _ of [1, 2, 3]) await makeChannel(context);
    await change('DOWN');
    const other = await withOtherAccount(context);
    const theirs = await makeChannel(other);
    await changeStatus(context, (await makeMonitor(other)).id, 'DOWN');
    const dispatchSome = () => dispatchStatusChanges(db, { limit: 100, maxDeliveries: 4 });
    expect(await dispatchSome()).toMatchObject({ statusChanges: 1, dueDeliveries: 4 });
    expect(await readDeliveryLog(db, theirs)).toHaveLength(2);
    // The channel that still misses both deliveries is deleted.
    await db.execute(sql`
      update channels set deleted_at = now() where id = (
        select id from channels where id not in (select channel_id from deliveries) limit 1)`);
    expect(await dispatchSome()).toMatchObject({ statusChanges: 1, dueDeliveries: 4 });
    expect(await dispatchSome()).toMatchObject({ statusChanges: 0, progressed: false, blocked: false });
    expect(await db.$count(deliveries)).toBe(8);
  });

  test('a status change that Postgres rejects stops neither other changes nor later ones of the same monitor', async () => {
    const refusedId = await change('DOWN');
    await db.execute(
      sql`update status_changes set webhook_events = '[{"event": "monitor.down", "payload": "?"}]'`,
    );
    await change('UP');
    expect(await dispatch()).toMatchObject({
      statusChanges: 1,
      dueDeliveries: 2,
      refused: [{ id: refusedId }],
    });
    expect(await claim()).toEqual([]);
    const claimed = await claimDeliveries(context, { limit: 100, refusedIds: [refusedId] });
    expect(claimed).toMatchObject([{ event: 'monitor.up' }]);
    // A retry repeats the status change alone, and batches exclude it.
    expect(await dispatchStatusChanges(db, { statusChangeIds: [refusedId] })).toMatchObject({
      refused: [{ id: refusedId }],
    });
    const others = await dispatchStatusChanges(db, { limit: 100, excludedIds: [refusedId] });
    expect(others).toMatchObject({ progressed: false, refused: [] });
  });

  test('status changes that all reach a time limit are refused, so that others can go first', async () => {
    await change('DOWN');
    await change('UP');
    await db.transaction(async (holder) => {
      await holder.execute(sql`lock table deliveries in share mode`);
      const early = db.transaction(async (tx) => {
        await tx.execute(sql`set local lock_timeout = '50ms'`);
        return dispatchStatusChanges(tx, { limit: 10 });
      });
      expect((await early).refused).toMatchObject([{ isTemporary: true }, { isTemporary: true }]);
    });
    expect(await dispatch()).toMatchObject({ statusChanges: 2 });
  });

  test('deliveries to a disabled channel are held', async () => {
    await setChannel({ enabled: false });
    await change('DOWN');
    expect(await dispatch()).toMatchObject({ dueDeliveries: 0 });
    expect(await readDeliveryLog(db, channelId)).toMatchObject([{ state: 'held' }, { state: 'held' }]);
    expect(await claim()).toEqual([]);
  });
});

test('a process that freezes in a transaction loses its locks, and alerts are sent again', async () => {
  await change('DOWN');
  const { url } = context;
  const frozen = openDatabase({ url, poolSize: 1, applicationName: 'frozen', onIdleError: () => undefined });
  const client = await frozen.pool.connect();
  const { rows } = await client.query(
    `select name, setting from pg_settings where name in ('idle_in_transaction_session_timeout', 'lock_timeout') order by 1`,
  );
  expect(rows).toEqual([
    { name: 'idle_in_transaction_session_timeout', setting: '10000' },
    { name: 'lock_timeout', setting: '5000' },
  ]);
  // This test uses shorter limits.
  await client.query('set idle_in_transaction_session_timeout = 0');
  await client.query('begin');
  await client.query('select from channels for no key update');
  expect(await dispatch()).toMatchObject({ dueDeliveries: 0, progressed: false, blocked: true });
  await client.query(`set idle_in_transaction_session_timeout = '50ms'`);
  await until('the end of the locks', async () => (await dispatch()).dueDeliveries === 2);
  client.release(true);
  await frozen.close();
});

describe('claimDeliveries', () => {
  test('gives a delivery to one of several concurrent claims', async () => {
    await alertOf(context, monitorId, 'DOWN');
    const claims = await Promise.all([claim(), claim(), claim(), claim()]);
    expect(claims.flat()).toHaveLength(1);
  });

  test('starts first attempts in the order of the timestamps, each after the previous one is recorded', async () => {
    await change('DOWN');
    await dispatch();
    const seen: string[] = [];
    for (let round = 0; round < 2; round += 1) {
      const [delivery, ...others] = await claim();
      if (!delivery) throw new Error('nothing claimed');
      expect(others).toEqual([]);
      seen.push(delivery.event);
      expect(await claim()).toEqual([]);
      await recordOutcome(context, delivery, { kind: 'retry', delayMs: 60_000 });
    }
    expect(seen).toEqual(['monitor.down', 'incident.created']);
  });

  test('waits for an earlier status change that is not dispatched yet', async () => {
    await change('DOWN');
    const recovery = await change('UP');
    const early = await dispatchStatusChanges(db, { statusChangeIds: [recovery] });
    expect(early).toMatchObject({ dueDeliveries: 2 });
    expect(await claim()).toEqual([]);
    await dispatch();
    expect((await claim()).map((delivery) => delivery.event)).toEqual(['monitor.down']);
  });

  test('repeats an attempt whose lease expired, with the same id and body', async () => {
    await change('DOWN');
    await dispatch();
    const [first] = await claim();
    await endLeases(context);
    const [again] = await claim();
    expect(again).toMatchObject({ id: first?.id, payload: first?.payload, attemptCount: 0 });
    expect(again?.leaseToken).not.toBe(first?.leaseToken);
  });

  test('an unreadable secret does not fail the claim of other deliveries', async () => {
    const other = await makeChannel(context);
    await setChannel({ sealedSecret: 'v1.00000000.AAAA' });
    await change('DOWN');
    await dispatch();
    const secrets = new Map((await claim()).map((one) => [one.channelId, one.secrets.length]));
    expect(secrets).toEqual(new Map([[channelId, 0]]).set(other, 1));
  });
});

/** Leases end by Postgres' clock, even if this machine stalls. */
async function keepLeases(): Promise<void> {
  await db.execute(
    sql`update deliveries set leased_until = now() + interval '1 hour' where leased_until is not null`,
  );
}

describe('if many receivers hang', () => {
  const HANGING = 25;
  const FAILING = { failingSince: new Date(), lastFailedAt: new Date() };

  /** Adds channels with due deliveries, older than those of the healthy one. */
  async function hang(count: number, values: Partial<typeof channels.$inferInsert>): Promise<void> {
    while ((await db.$count(channels)) < HANGING) await makeChannel(context, []);
    await db.update(channels).set(values);
    for (const { id } of await db.select().from(channels)) await addDeliveries(context, id, count);
  }

  test('the others of their account do not wait for them, although they use the whole capacity', async () => {
    await hang(3, FAILING);
    expect(await claimDeliveries(context, { limit: 40 })).toHaveLength(40);
    await keepLeases();
    const healthy = await makeChannel(context, []);
    await addDeliveries(context, healthy, 8);
    const next = await claimDeliveries(context, { limit: 0, capacity: 40 });
    expect(channelsOf(next)).toEqual(Array.from({ length: 8 }, () => healthy));
  });

  test('failing channels take turns, so that a recovered one does not wait for the others', async () => {
    const recovered = await makeChannel(context, []);
    await hang(3, { failingSince: new Date(), lastFailedAt: new Date(0) });
    await db.execute(
      sql`update deliveries set next_attempt_at = now() - interval '1 hour' where channel_id <> ${recovered}`,
    );
    await db.execute(sql`update channels set last_failed_at = now() where id <> ${recovered}`);
    expect(channelsOf(await claimDeliveries(context, { limit: 1 }))).toEqual([recovered]);
  });

  test('the first alert of each channel comes before the second of any', async () => {
    await hang(2, { failingSince: null });
    const healthy = await makeChannel(context, []);
    await addDeliveries(context, healthy, 2);
    const claimed = await claimDeliveries(context, { limit: HANGING + 1 });
    expect(new Set(channelsOf(claimed)).size).toBe(HANGING + 1);
    // Running attempts count, so the second alert of a channel comes after the first of all others.
    const done = claimed.find(({ channelId: id }) => id === healthy);
    if (!done) throw new Error('the healthy channel must be claimed');
    await recordOutcome(context, done, { kind: 'delivered' });
    expect(channelsOf(await claimDeliveries(context, { limit: 1 }))).toEqual([healthy]);
  });
});

describe('accounts', () => {
  const [HELD, DUE] = [4, 6];

  /** Adds an account with one channel. */
  async function addOther(count: number): Promise<string> {
    const other = await withOtherAccount(context);
    const id = await makeChannel(other, []);
    await addDeliveries(other, id, count);
    return id;
  }

  test('with fewer attempts come first, and have their share even while others use the whole capacity', async () => {
    for (let number = 0; number < HELD; number += 1)
      await addDeliveries(context, await makeChannel(context, []), DUE);
    expect(await claimDeliveries(context, { limit: HELD })).toHaveLength(HELD);
    await keepLeases();
    const second = await addOther(DUE);
    const within = await claimDeliveries(context, { limit: 0, capacity: HELD });
    expect(channelsOf(within)).toEqual([second, second]);
    const third = await addOther(1);
    const free = await claimDeliveries(context, { limit: 2, capacity: 1 });
    expect(channelsOf(free)).toEqual([third]);
    // The free attempt goes to the account with two attempts, and not to the one with four.
    expect(channelsOf(await claimDeliveries(context, { limit: 1 }))).toEqual([second]);
  });
});

describe('locks', () => {
  /** Another transaction locks the first of two rows, and then the second one while `work` waits for the first. */
  async function lockBeside(
    lock: (tx: Transaction, index: 0 | 1) => Promise<unknown>,
    work: () => Promise<unknown>,
  ): Promise<void> {
    const working = await db.transaction(async (tx) => {
      await lock(tx, 0);
      const started = work();
      started.catch(() => undefined);
      await untilWaiting(context, 1);
      await lock(tx, 1);
      return { started };
    });
    await working.started;
  }

  test('a locked channel delays only its own deliveries', async () => {
    const other = await makeChannel(context);
    await change('DOWN');
    await db.transaction(async (tx) => {
      await tx.execute(sql`select from channels where id = ${channelId} for no key update`);
      expect(await dispatch()).toMatchObject({ statusChanges: 0, progressed: true });
      expect(await readDeliveryLog(db, other)).toHaveLength(2);
      expect(await dispatch()).toMatchObject({ progressed: false, blocked: true });
    });
    expect(await dispatch()).toMatchObject({ statusChanges: 1 });
    expect(await readDeliveryLog(db, channelId)).toHaveLength(2);
  });

  test('deliveries are held in id order, in which attempts are also recorded', async () => {
    await setChannel({ enabled: false });
    const ids = ['00000000-0000-7000-8000-000000000001', '00000000-0000-7000-8000-000000000002'];
    // The second delivery is due first.
    for (const [index, id] of ids.toReversed().entries()) {
      await db.execute(sql`
        insert into deliveries (id, account_id, channel_id, status_change_id, monitor_id, event, timestamp, payload, state, next_attempt_at)
        values (${id}, ${accountId}, ${channelId}, gen_random_uuid(), gen_random_uuid(), 'monitor.down', now(), '{}', 'pending',
          now() + make_interval(secs => ${index}))`);
    }
    await lockBeside(
      (tx, index) =>
        tx.execute(sql`select from deliveries where id = ${ids[index]} for no key update nowait`),
      () => holdAllIfDisabled(db, channelId),
    );
    expect(await readDeliveryLog(db, channelId)).toMatchObject([{ state: 'held' }, { state: 'held' }]);
  });

  test('a delivery that is recorded while it waits to be held stays delivered', async () => {
    await setChannel({ enabled: false });
    await addDeliveries(context, channelId, 1);
    await lockBeside(
      (tx) => tx.execute(sql`update deliveries set state = 'delivered', next_attempt_at = null`),
      () => holdAllIfDisabled(db, channelId),
    );
    expect(await readDeliveryLog(db, channelId)).toMatchObject([{ state: 'delivered' }]);
  });
});
