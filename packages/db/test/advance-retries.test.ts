import { beforeEach, describe, expect, test } from '@jest/globals';
import { channels } from '@tocsin/db/channels/table';
import { correctFarAttempts, probeFailingChannels } from '@tocsin/db/deliveries/advance-retries';
import { claimDeliveries, type ClaimedDelivery } from '@tocsin/db/deliveries/claim-deliveries';
import { beginOutage, endOutage } from '@tocsin/db/deliveries/delivery-outages';
import { eq, sql } from 'drizzle-orm';
import {
  addDeliveries,
  disableExhausted,
  makeChannel,
  recordOutcome,
  withOtherAccount,
} from './delivery-steps.ts';
import { useTestContext } from './harness.ts';

const context = await useTestContext();
const { db } = context;

const DELIVERED = { kind: 'delivered' } as const;
const HOUR_MS = 3_600_000;
const ago = (ms: number): Date => new Date(Date.now() - ms);
let channelId: string;

beforeEach(async () => {
  await db.execute(sql`truncate channels, deliveries, delivery_outages cascade`);
  channelId = await makeChannel(context, []);
});

async function setChannel(values: Partial<typeof channels.$inferInsert>, id = channelId): Promise<void> {
  await db.update(channels).set(values).where(eq(channels.id, id));
}

/** Adds deliveries that have failed this often and wait for a retry. */
async function addWaiting(count: number, attempts = 10, wait = '2 hours', id = channelId): Promise<void> {
  await addDeliveries(context, id, count);
  await db.execute(sql`
    update deliveries set attempt_count = ${attempts}, round_attempt_count = ${attempts}, first_attempt_at = now(),
      next_attempt_at = now() + ${wait}::interval
    where channel_id = ${id} and attempt_count = 0`);
}

const claim = (): Promise<ClaimedDelivery[]> => claimDeliveries(context, { limit: 1_000 });

async function deliverAll(claimed: readonly ClaimedDelivery[]): Promise<number> {
  for (const delivery of claimed) await recordOutcome(context, delivery, DELIVERED);
  return claimed.length;
}

/** Counts the deliveries that are due now and within a minute. */
async function due(): Promise<unknown> {
  const { rows } = await db.execute(sql`
    select count(*) filter (where next_attempt_at <= now())::int as now,
      count(*) filter (where next_attempt_at <= now() + interval '1 minute')::int as soon
    from deliveries where state = 'pending'`);
  return rows[0];
}

describe('a success on a channel', () => {
  test('that had failed makes the next retries due, and each of these makes more due', async () => {
    await addWaiting(70);
    await addWaiting(1, 1, '30 minutes');
    await setChannel({ failingSince: ago(HOUR_MS), lastFailedAt: ago(1_000) });
    await addDeliveries(context, channelId, 1);
    expect(await deliverAll(await claim())).toBe(1);
    // One of them still waits, because of its Retry-After.
    expect(await due()).toEqual({ now: 49, soon: 49 });
    let delivered = 0;
    for (let claimed = await claim(); claimed.length > 0; claimed = await claim()) {
      delivered += await deliverAll(claimed);
    }
    expect(delivered).toBe(70);
    expect(await due()).toEqual({ now: 0, soon: 0 });
  });

  test.each([true, false])(
    'that is not a recovery does not affect retries that the receiver refused (failing: %p)',
    async (isFailing) => {
      await addWaiting(2);
      await db.execute(sql`
      insert into attempts (delivery_id, number, started_at, duration_ms, status_code)
      select id, 10, now(), 1, case row_number() over () when 1 then 400 end from deliveries`);
      await setChannel({ failingSince: isFailing ? ago(1_000) : null, lastFailedAt: ago(1_000) });
      await addDeliveries(context, channelId, 1);
      await deliverAll(await claim());
      expect(await due()).toEqual({ now: 0, soon: 1 });
    },
  );
});

test('a channel whose attempts all fail gets its next retry a minute after its last attempt', async () => {
  await addWaiting(3);
  await setChannel({ failingSince: ago(HOUR_MS), lastFailedAt: ago(50_000) });
  await probeFailingChannels(db);
  expect(await claim()).toEqual([]);
  const seen = new Set<string>();
  for (let round = 0; round < 3; round += 1) {
    await setChannel({ lastFailedAt: ago(round === 1 ? -HOUR_MS : 61_000) });
    await probeFailingChannels(db);
    await probeFailingChannels(db);
    const [probe, ...others] = await claim();
    if (!probe) throw new Error('no probe');
    expect(others).toEqual([]);
    seen.add(probe.id);
    await recordOutcome(context, probe, { kind: 'retry', delayMs: 8 * HOUR_MS });
  }
  expect(seen.size).toBe(3);
  await setChannel({ lastFailedAt: ago(61_000), failingSince: null });
  await probeFailingChannels(db);
  expect(await claim()).toEqual([]);
});

test('accounts whose channels fail take turns', async () => {
  const theirs = await makeChannel(await withOtherAccount(context), []);
  await addWaiting(1, 10, '2 hours', theirs);
  await setChannel({ failingSince: ago(HOUR_MS), lastFailedAt: ago(61_000) }, theirs);
  for (let number = 0; number < 100; number += 1) {
    const id = await makeChannel(context, []);
    await addWaiting(1, 10, '2 hours', id);
    await setChannel({ failingSince: ago(HOUR_MS), lastFailedAt: ago(HOUR_MS) }, id);
  }
  await probeFailingChannels(db);
  const probed = (await claim()).map((delivery) => delivery.channelId);
  expect(probed).toHaveLength(100);
  expect(probed).toContain(theirs);
});

test('an attempt that is further away than any delay becomes due', async () => {
  await addWaiting(1, 3, '59 minutes');
  await addWaiting(1, 12, '9 hours');
  await correctFarAttempts(db);
  expect(await due()).toMatchObject({ now: 0 });
  await addWaiting(1, 3, '61 minutes');
  await addWaiting(1, 10, '3 hours');
  await addDeliveries(context, channelId, 1);
  await db.execute(
    sql`update deliveries set next_attempt_at = now() + interval '10 s' where attempt_count = 0`,
  );
  await setChannel({ pausedUntil: ago(-HOUR_MS) });
  await correctFarAttempts(db);
  expect(await claim()).toHaveLength(3);
});

describe('an outage', () => {
  const failing = { failingSince: ago(73 * HOUR_MS), lastFailedAt: ago(1_000) };
  const isOpen = async (): Promise<boolean> =>
    (await db.execute(sql`select from delivery_outages where ended_at is null`)).rowCount === 1;

  test('counts neither for a channel nor for a delivery', async () => {
    await setChannel(failing);
    await addWaiting(1, 3, '0 s');
    await db.execute(sql`update deliveries set first_attempt_at = now() - interval '71 hours'`);
    await db.execute(sql`
      insert into delivery_outages (started_at, ended_at) values
        (now() - interval '80 hours', now() - interval '72 hours'), (now() - interval '10 hours', now() - interval '9 hours'),
        (now() - interval '2 hours', null)`);
    expect(await disableExhausted(context)).toEqual([]);
    const [claimed] = await claim();
    expect(Math.round((claimed?.elapsedMs ?? 0) / HOUR_MS)).toBe(68);
    expect(claimed && (await recordOutcome(context, claimed, { kind: 'retry', delayMs: 1_000 }))).toBeNull();
    await db.execute(sql`delete from delivery_outages`);
    expect(await disableExhausted(context)).toEqual([channelId]);
  });

  test('begins if a second channel fails or there is no other, and ends with a response', async () => {
    await beginOutage(db, channelId);
    expect(await isOpen()).toBe(true);
    await endOutage(db);
    const other = await makeChannel(context, []);
    await beginOutage(db, channelId);
    expect(await isOpen()).toBe(false);
    await setChannel(failing, other);
    await Promise.all([beginOutage(db, channelId), beginOutage(db, channelId)]);
    expect(await isOpen()).toBe(true);
    await db.execute(sql`update delivery_outages set started_at = now() - interval '1 hour'`);
    await endOutage(db);
    expect(await isOpen()).toBe(false);
    expect(await db.execute(sql`select from delivery_outages`)).toMatchObject({ rowCount: 1 });
  });
});
