import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { channels } from '@tocsin/db/channels/table';
import { openDatabase } from '@tocsin/db/database/open';
import { claimDeliveries, type ClaimedDelivery } from '@tocsin/db/deliveries/claim-deliveries';
import type { AttemptOutcome } from '@tocsin/db/deliveries/record-attempt';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { dispatchStatusChanges, outboxBacklog } from '@tocsin/db/status-changes/dispatch-status-changes';
import { eq, sql } from 'drizzle-orm';
import { readDeliveryLog } from './delivery-log.ts';
import { changeStatus, makeChannel as makeChannelIn, recordOutcome } from './delivery-steps.ts';
import { makeMonitor, openTestContext, type TestContext } from './harness.ts';

let context: TestContext;
let monitorId: string;
let channelId: string;

beforeAll(async () => {
  context = await openTestContext();
});
afterAll(() => context.close());

beforeEach(async () => {
  await context.db.execute(sql`truncate monitors, channels, status_changes, deliveries cascade`);
  monitorId = (await makeMonitor(context)).id;
  channelId = await makeChannel();
});

async function makeChannel(): Promise<string> {
  return makeChannelIn(context);
}

async function change(to: 'UP' | 'DOWN'): Promise<string> {
  return changeStatus(context, monitorId, to);
}

async function claim(): Promise<ClaimedDelivery[]> {
  return claimDeliveries(context, { limit: 100 });
}

async function record(
  delivery: ClaimedDelivery,
  outcome: AttemptOutcome,
  statusCode = 500,
): Promise<string | null> {
  return recordOutcome(context, delivery, outcome, statusCode);
}

async function setChannel(values: Partial<typeof channels.$inferInsert>): Promise<void> {
  await context.db.update(channels).set(values).where(eq(channels.id, channelId));
}

describe('dispatchStatusChanges', () => {
  test('creates one delivery per event and channel, even with repeated and concurrent runs', async () => {
    await makeChannel();
    const statusChangeId = await change('DOWN');
    expect(await outboxBacklog(context.db)).toMatchObject({ count: 1 });
    await Promise.all([
      dispatchStatusChanges(context.db, { statusChangeIds: [statusChangeId] }),
      dispatchStatusChanges(context.db, { limit: 10 }),
      dispatchStatusChanges(context.db, { statusChangeIds: [statusChangeId] }),
    ]);
    await dispatchStatusChanges(context.db, { limit: 10 });
    const { rows } = await context.db.execute(sql`select event, channel_id from deliveries`);
    expect(rows).toHaveLength(4);
    expect(await outboxBacklog(context.db)).toEqual({ count: 0, oldestSeconds: 0 });
  });

  test('a dispatch that crashes leaves nothing behind and is repeated completely', async () => {
    const statusChangeId = await change('DOWN');
    await expect(
      context.db.transaction(async (tx) => {
        await dispatchStatusChanges(tx, { statusChangeIds: [statusChangeId] });
        throw new Error('crash before commit');
      }),
    ).rejects.toThrow('crash');
    expect(await readDeliveryLog(context.db, channelId)).toEqual([]);
    await dispatchStatusChanges(context.db, { limit: 10 });
    expect(await readDeliveryLog(context.db, channelId)).toHaveLength(2);
  });

  test('a due alert is sent even if its monitor or its assignment is deleted', async () => {
    await change('DOWN');
    await deleteMonitor(context.db, systemActor(context.accountId), monitorId);
    await setChannel({ allMonitors: false });
    const { deliveryIds } = await dispatchStatusChanges(context.db, { limit: 10 });
    expect(deliveryIds).toHaveLength(2);
    expect(await claim()).toHaveLength(1);
  });

  test('a channel assigned after the status change gets no delivery', async () => {
    await change('DOWN');
    const later = await makeChannel();
    await dispatchStatusChanges(context.db, { limit: 10 });
    expect(await readDeliveryLog(context.db, later)).toEqual([]);
  });

  test('deliveries to a disabled channel are held', async () => {
    await setChannel({ enabled: false });
    await change('DOWN');
    expect(await dispatchStatusChanges(context.db, { limit: 10 })).toMatchObject({ deliveryIds: [] });
    const log = await readDeliveryLog(context.db, channelId);
    expect(log.map((delivery) => delivery.state)).toEqual(['held', 'held']);
    expect(await claim()).toEqual([]);
  });
});

test('a process that freezes in a transaction loses its locks, and alerts are sent again', async () => {
  await change('DOWN');
  const frozen = openDatabase({
    url: context.url,
    poolSize: 1,
    applicationName: 'frozen',
    onIdleError: () => undefined,
  });
  const client = await frozen.pool.connect();
  const { rows } = await client.query(
    `select name, setting from pg_settings where name in ('idle_in_transaction_session_timeout', 'lock_timeout') order by 1`,
  );
  expect(rows).toEqual([
    { name: 'idle_in_transaction_session_timeout', setting: '10000' },
    { name: 'lock_timeout', setting: '5000' },
  ]);
  // The same in less time.
  await client.query('set idle_in_transaction_session_timeout = 0');
  await client.query('begin');
  await client.query('select from channels for no key update');
  const early = context.db.transaction(async (tx) => {
    await tx.execute(sql`set local lock_timeout = '50ms'`);
    return dispatchStatusChanges(tx, { limit: 10 });
  });
  await expect(early).rejects.toMatchObject({ cause: { code: '55P03' } });
  await client.query(`set idle_in_transaction_session_timeout = '50ms'`);
  const { deliveryIds } = await dispatchStatusChanges(context.db, { limit: 10 });
  expect(deliveryIds).toHaveLength(2);
  client.release(true);
  await frozen.close();
});

describe('claimDeliveries', () => {
  test('gives a delivery to one of several concurrent claims', async () => {
    await change('DOWN');
    const { deliveryIds } = await dispatchStatusChanges(context.db, { limit: 10 });
    const claims = await Promise.all([
      claim(),
      claim(),
      ...deliveryIds.map((deliveryId) => claimDeliveries(context, { deliveryId })),
    ]);
    expect(claims.flat()).toHaveLength(1);
  });

  test('starts first attempts in the order of the timestamps, each after the previous one is recorded', async () => {
    await change('DOWN');
    await dispatchStatusChanges(context.db, { limit: 10 });
    const seen: string[] = [];
    for (let round = 0; round < 2; round += 1) {
      const [delivery, ...others] = await claim();
      if (!delivery) throw new Error('nothing claimed');
      expect(others).toEqual([]);
      seen.push(delivery.event);
      expect(await claim()).toEqual([]);
      await record(delivery, { kind: 'retry', delayMs: 60_000 });
    }
    expect(seen).toEqual(['monitor.down', 'incident.created']);
  });

  test('waits for an earlier status change that is not dispatched yet', async () => {
    await change('DOWN');
    const recovery = await change('UP');
    const { deliveryIds } = await dispatchStatusChanges(context.db, { statusChangeIds: [recovery] });
    expect(deliveryIds).toHaveLength(2);
    expect(await claim()).toEqual([]);
    await dispatchStatusChanges(context.db, { limit: 10 });
    expect((await claim()).map((delivery) => delivery.event)).toEqual(['monitor.down']);
  });

  test('repeats an attempt whose lease expired, with the same id and body', async () => {
    await change('DOWN');
    await dispatchStatusChanges(context.db, { limit: 10 });
    const [first] = await claim();
    await context.db.execute(
      sql`update deliveries set leased_until = now() - interval '1 second' where leased_until is not null`,
    );
    const [again] = await claim();
    expect(again).toMatchObject({ id: first?.id, payload: first?.payload, attemptCount: 0 });
    expect(again?.leaseToken).not.toBe(first?.leaseToken);
  });

  test('runs at most ten attempts to one channel, so that a slow receiver does not delay others', async () => {
    const other = await makeChannel();
    for (let index = 0; index < 15; index += 1) {
      monitorId = (await makeMonitor(context, { externalId: null })).id;
      await change('DOWN');
    }
    await dispatchStatusChanges(context.db, { limit: 100 });
    const claimed = await claim();
    expect(claimed.filter((delivery) => delivery.channelId === channelId)).toHaveLength(10);
    expect(claimed.filter((delivery) => delivery.channelId === other)).toHaveLength(10);
    expect(await claim()).toEqual([]);
  });

  describe('if many receivers hang', () => {
    const HANGING = 25;

    /** Each has alerts of as many monitors, older than those of the healthy one. */
    async function hang(monitors: number, failingSince: Date | null): Promise<void> {
      for (let index = 1; index < HANGING; index += 1) await makeChannel();
      await context.db.update(channels).set({ failingSince });
      await alert(monitors);
    }

    async function alert(monitors: number): Promise<string[]> {
      for (let index = 0; index < monitors; index += 1) {
        monitorId = (await makeMonitor(context, { externalId: null })).id;
        await change('DOWN');
      }
      return (await dispatchStatusChanges(context.db, { limit: 100 })).deliveryIds;
    }

    test('failing channels use at most their share of the capacity', async () => {
      await hang(5, new Date());
      const healthy = await makeChannel();
      const deliveryIds = await alert(8);
      const first = await claimDeliveries(context, { limit: 60, failingLimit: 40 });
      expect(first.filter(({ channelId: id }) => id === healthy)).toHaveLength(8);
      expect(first.filter(({ isChannelFailing }) => isChannelFailing)).toHaveLength(40);
      // Their attempts are still running, so there is no room for more. Leases end by Postgres' clock, even if this machine stalls.
      await context.db.execute(
        sql`update deliveries set leased_until = now() + interval '1 hour' where leased_until is not null`,
      );
      expect(await claimDeliveries(context, { limit: 12, failingLimit: 0 })).toEqual([]);
      const byJob = await Promise.all(
        deliveryIds.map((deliveryId) => claimDeliveries(context, { deliveryId })),
      );
      expect(byJob.flat()).toEqual([]);
      for (const delivery of first) await record(delivery, { kind: 'delivered' }, 200);
      expect(await claimDeliveries(context, { limit: 12, failingLimit: 0 })).toHaveLength(12);
    });

    test('failing channels take turns, so that a recovered one does not wait for the others', async () => {
      await hang(3, new Date());
      const recovered = await makeChannel();
      await context.db.update(channels).set({ failingSince: new Date(), lastFailedAt: new Date() });
      await alert(1);
      await context.db.execute(
        sql`update deliveries set next_attempt_at = now() - interval '1 hour' where channel_id <> ${recovered}`,
      );
      await context.db.execute(sql`update channels set last_failed_at = now() where id <> ${recovered}`);
      const [first] = await claimDeliveries(context, { limit: 10, failingLimit: 1 });
      expect(first?.channelId).toBe(recovered);
    });

    test('the first alert of each channel comes before the second of any', async () => {
      await hang(5, null);
      const healthy = await makeChannel();
      await alert(2);
      const claimed = await claimDeliveries(context, { limit: HANGING + 1 });
      expect(new Set(claimed.map(({ channelId: id }) => id)).size).toBe(HANGING + 1);
      expect(claimed.map(({ channelId: id }) => id)).toContain(healthy);
      // Running attempts count: one channel's second comes after the first of all.
      const done = claimed.find(({ channelId: id }) => id === healthy);
      if (done) await record(done, { kind: 'delivered' }, 200);
      const [next] = await claimDeliveries(context, { limit: 1 });
      expect(next?.channelId).toBe(healthy);
    });
  });

  test('an unreadable secret does not fail the claim of other deliveries', async () => {
    const other = await makeChannel();
    await setChannel({ sealedSecret: 'v1.00000000.AAAA' });
    await change('DOWN');
    await dispatchStatusChanges(context.db, { limit: 10 });
    const claimed = await claim();
    expect(new Map(claimed.map((delivery) => [delivery.channelId, delivery.secrets.length]))).toEqual(
      new Map([
        [channelId, 0],
        [other, 1],
      ]),
    );
  });

  test('returns both secrets during a rotation', async () => {
    await change('DOWN');
    await dispatchStatusChanges(context.db, { limit: 10 });
    await setChannel({
      sealedPreviousSecret: context.secrets.encrypt('whsec_b2xk'),
      previousSecretExpiresAt: new Date(Date.now() + 60_000),
    });
    const [delivery] = await claim();
    expect(delivery?.secrets).toEqual([expect.stringMatching(/^whsec_/), 'whsec_b2xk']);
  });
});
