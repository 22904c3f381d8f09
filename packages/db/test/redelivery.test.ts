import { systemActor } from '@tocsin/db/audit-log/actor';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { deliveryDetailSchema, deliverySchema } from '@tocsin/contracts/deliveries/delivery';
import { webhookPayloadSchema } from '@tocsin/contracts/deliveries/webhook';
import { channels } from '@tocsin/db/channels/table';
import { deleteChannel, updateChannel } from '@tocsin/db/channels/write-channels';
import { claimDeliveries } from '@tocsin/db/deliveries/claim-deliveries';
import { holdForDisabledChannels } from '@tocsin/db/deliveries/hold-deliveries';
import { getDelivery, listDeliveries } from '@tocsin/db/deliveries/read-deliveries';
import { redeliver, redeliverUndelivered } from '@tocsin/db/deliveries/redeliver';
import {
  abandonTestDelivery,
  createTestDelivery,
  findTestOutcome,
} from '@tocsin/db/deliveries/test-deliveries';
import { sql } from 'drizzle-orm';
import {
  addDeliveries,
  alertOf,
  claimOne,
  disableExhausted,
  endLeases,
  makeAccount,
  makeChannel,
  readDeliveryLog,
  recordOutcome,
  redeliverAll,
} from './delivery-steps.ts';
import { makeMonitor, useTestContext } from './harness.ts';

const context = await useTestContext();
const { db, accountId, actor } = context;

const EVER = { since: new Date(0), until: new Date('2100-01-01') };
let monitorId: string;
let channelId: string;

beforeEach(async () => {
  await db.execute(sql`truncate monitors, channels, status_changes, deliveries cascade`);
  monitorId = (await makeMonitor(context)).id;
  channelId = await makeChannel(context);
});

/** Returns the first delivery, after this many failed attempts and this final outcome. */
async function spent(ends: 'delivered' | 'failed', failures = 0): Promise<string> {
  await alertOf(context, monitorId, 'DOWN');
  for (let attempt = 0; attempt < failures; attempt += 1) {
    const claimed = await claimOne(context);
    await recordOutcome(context, claimed, { kind: 'retry', delayMs: 0 });
    await db.execute(sql`update deliveries set next_attempt_at = null where id <> ${claimed.id}`);
  }
  const last = await claimOne(context);
  await recordOutcome(context, last, { kind: ends });
  return last.id;
}

describe('redeliver', () => {
  test.each(['delivered', 'failed'] as const)(
    'restarts the schedule of a %s delivery and keeps counting its attempts',
    async (end) => {
      const id = await spent(end, 2);
      await db.execute(sql`update deliveries set first_attempt_at = now() - interval '71 hours'`);
      const due = await redeliver(db, actor, id);
      expect(deliverySchema.parse(due)).toMatchObject({ id, state: 'pending', attemptCount: 3 });
      const again = await claimOne(context);
      expect(again).toMatchObject({ id, attemptCount: 3, roundAttemptCount: 0 });
      expect(again.elapsedMs).toBeLessThan(1_000);
      await recordOutcome(context, again, { kind: 'retry', delayMs: 5_000 });
      const detail = deliveryDetailSchema.parse(await getDelivery(db, accountId, id));
      expect(detail.attempts.map((attempt) => attempt.number)).toEqual([1, 2, 3, 4]);
      expect(detail).toMatchObject({ state: 'pending', attemptCount: 4 });
      const [row] = await readDeliveryLog(db, channelId);
      expect(row).toMatchObject({ roundAttemptCount: 1 });
    },
  );

  test('is refused while an attempt is running, but after its lease, a late failure only enters the log', async () => {
    await alertOf(context, monitorId, 'DOWN');
    const running = await claimOne(context);
    await expect(redeliver(db, actor, running.id)).rejects.toMatchObject({ code: 'conflict' });
    await endLeases(context);
    await redeliver(db, actor, running.id);
    await recordOutcome(context, running, { kind: 'failed' });
    const [row] = await readDeliveryLog(db, channelId);
    expect(row).toMatchObject({ state: 'pending', attemptCount: 1, roundAttemptCount: 0, leaseToken: null });
    expect((await claimOne(context)).id).toBe(running.id);
  });

  test('a race with a claim leaves the delivery due or running, never lost', async () => {
    for (let round = 0; round < 8; round += 1) {
      await db.execute(sql`truncate status_changes, deliveries cascade`);
      const [id = ''] = await alertOf(context, monitorId, round % 2 === 0 ? 'DOWN' : 'UP');
      const [claims, redelivered] = await Promise.allSettled([
        claimDeliveries(context, { limit: 10 }),
        redeliver(db, actor, id),
      ]);
      if (claims.status === 'rejected') throw claims.reason;
      const claimed = claims.value.find((delivery) => delivery.id === id);
      const log = await readDeliveryLog(db, channelId);
      expect(log.find((delivery) => delivery.id === id)).toMatchObject({ state: 'pending' });
      if (redelivered.status === 'rejected') {
        expect(redelivered.reason).toMatchObject({ code: 'conflict' });
        expect(claimed).toBeDefined();
      }
      if (claimed) await recordOutcome(context, claimed, { kind: 'delivered' });
    }
  });

  test('is refused for a disabled channel and for another account', async () => {
    const id = await spent('failed');
    const other = await makeAccount(context);
    await expect(redeliver(db, systemActor(other), id)).rejects.toMatchObject({ code: 'not_found' });
    await updateChannel(context, actor, channelId, { enabled: false });
    const refusal = { code: 'conflict', message: expect.stringContaining('Enable it first') };
    await expect(redeliver(db, actor, id)).rejects.toMatchObject(refusal);
    await expect(redeliverAll(context, channelId)).rejects.toMatchObject(refusal);
    const ofOther = redeliverAll({ ...context, actor: systemActor(other) }, channelId);
    await expect(ofOther).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('redeliverUndelivered', () => {
  test('releases held deliveries in the order of the events', async () => {
    await updateChannel(context, actor, channelId, { enabled: false });
    await alertOf(context, monitorId, 'DOWN');
    await alertOf(context, monitorId, 'UP');
    await updateChannel(context, actor, channelId, { enabled: true });
    expect(await claimDeliveries(context, { limit: 10 })).toEqual([]);
    const ids = await redeliverAll(context, channelId);
    const log = await readDeliveryLog(db, channelId);
    expect(ids).toEqual(log.map(({ id }) => id));
    const seen: string[] = [];
    for (let round = 0; round < 4; round += 1) {
      const claimed = await claimOne(context);
      seen.push(claimed.event);
      await recordOutcome(context, claimed, { kind: 'retry', delayMs: 60_000 });
    }
    expect(seen).toEqual(['monitor.down', 'incident.created', 'monitor.up', 'incident.resolved']);
  });

  test('reads a long backlog in parts, and continues where an earlier call stopped', async () => {
    const other = await makeChannel(context, []);
    await addDeliveries(context, other, 2_500, 'held');
    const countHeld = async () =>
      (await db.execute(sql`select from deliveries where state = 'held'`)).rowCount;
    const first = redeliverUndelivered(db, actor, other, EVER);
    expect((await first.next()).value).toMatchObject({ ids: { length: 1_000 }, remaining: 1_500 });
    await first.return();
    expect(await countHeld()).toBe(1_500);
    const last: number[] = [];
    for await (const { remaining } of redeliverUndelivered(db, actor, other, EVER, 1_000))
      last.push(remaining);
    expect(last.at(-1)).toBe(1);
    for await (const { remaining } of redeliverUndelivered(db, actor, other, EVER)) last.push(remaining);
    expect(last.at(-1)).toBe(0);
    expect(await countHeld()).toBe(0);
  });

  test('releases undelivered events in [since, until), except running attempts and test events', async () => {
    const delivered = await spent('delivered');
    const [, second] = await readDeliveryLog(db, channelId);
    if (!second) throw new Error('no second delivery');
    const testId = await createTestDelivery(db, actor, channelId, 'default');
    await abandonTestDelivery(db, testId);
    const from = (since: Date, until: Date): Promise<string[]> =>
      redeliverAll(context, channelId, { since, until });
    expect(await from(EVER.since, second.timestamp)).toEqual([]);
    expect(await from(second.timestamp, EVER.until)).toEqual([second.id]);
    expect(await from(new Date(second.timestamp.getTime() + 1), EVER.until)).toEqual([]);
    const running = await claimOne(context);
    expect(running.id).toBe(second.id);
    expect(await from(EVER.since, EVER.until)).toEqual([]);
    expect((await getDelivery(db, accountId, delivered)).state).toBe('delivered');
  });

  test('an earlier event without an attempt is still sent first', async () => {
    await alertOf(context, monitorId, 'DOWN');
    const log = await readDeliveryLog(db, channelId);
    const [earlier, later] = [log[0]?.id ?? '', log[1]?.id ?? ''];
    await db.execute(sql`update deliveries set state = 'failed', attempt_count = 5 where id = ${later}`);
    await redeliver(db, actor, later);
    const claimed = await claimOne(context);
    expect(claimed.id).toBe(earlier);
    await recordOutcome(context, claimed, { kind: 'retry', delayMs: 60_000 });
    expect((await claimOne(context)).id).toBe(later);
  });

  test('two redeliveries and alerts at the same time do not deadlock', async () => {
    await updateChannel(context, actor, channelId, { enabled: false });
    for (let round = 0; round < 4; round += 1) {
      await alertOf(context, monitorId, round % 2 === 0 ? 'DOWN' : 'UP');
    }
    await updateChannel(context, actor, channelId, { enabled: true });
    const [one, other] = await Promise.all([
      redeliverAll(context, channelId),
      redeliverAll(context, channelId),
      alertOf(context, monitorId, 'DOWN'),
      updateChannel(context, actor, channelId, { name: 'renamed' }),
    ]);
    expect(Math.min(one.length, other.length)).toBeGreaterThanOrEqual(8);
  });
});

describe('listDeliveries', () => {
  test('pages from the newest, even for deliveries in the same millisecond', async () => {
    for (const to of ['DOWN', 'UP', 'DOWN', 'UP'] as const) await alertOf(context, monitorId, to);
    await db.execute(sql`update deliveries set created_at = '2026-11-20T12:00:00Z'`);
    const paged: string[] = [];
    for (let before: string | undefined; ; before = paged.at(-1)) {
      const page = await listDeliveries(db, channelId, { limit: 3, before });
      if (page.length === 0) break;
      paged.push(...page.map(({ id }) => id));
    }
    const all = await listDeliveries(db, channelId, { limit: 100 });
    expect(paged).toEqual(all.map(({ id }) => id));
    expect(new Set(paged).size).toBe(8);
  });

  test('filters by state, and rejects a cursor from another channel', async () => {
    await spent('failed');
    const failed = await listDeliveries(db, channelId, { limit: 10, state: 'failed' });
    expect(failed).toHaveLength(1);
    const other = await makeChannel(context, []);
    const wrong = listDeliveries(db, other, { limit: 10, before: failed[0]?.id });
    const errors = [expect.objectContaining({ path: 'before' })];
    await expect(wrong).rejects.toMatchObject({ code: 'validation_failed', errors });
  });
});

describe('a test event', () => {
  test('has the payload of the specification, with a timestamp from Postgres', async () => {
    const id = await createTestDelivery(db, actor, channelId, 'eu-west-1');
    const { payload, ...delivery } = await getDelivery(db, accountId, id);
    expect(webhookPayloadSchema.parse(JSON.parse(payload))).toEqual({
      event: 'monitor.up',
      monitorId: 'test',
      monitorName: 'test',
      status: 'UP',
      previousStatus: 'DOWN',
      latency: 0,
      errorReason: null,
      region: 'eu-west-1',
      timestamp: delivery.timestamp,
      runbookUrl: null,
    });
    expect(delivery).toMatchObject({ monitorId: 'test', event: 'monitor.up', test: true, state: 'pending' });
  });

  test('of a disabled channel is attempted once and does not change the channel, whatever its outcome', async () => {
    const health = { enabled: false, disabledReason: 'Gone.', failingSince: new Date(0) };
    await db.update(channels).set(health);
    await alertOf(context, monitorId, 'DOWN');
    const id = await createTestDelivery(db, actor, channelId, 'default');
    expect(await findTestOutcome(db, id)).toBeNull();
    const claimed = await claimOne(context);
    expect(claimed).toMatchObject({ id, test: true });
    expect(await recordOutcome(context, claimed, { kind: 'failed' })).toBeNull();
    expect(await findTestOutcome(db, id)).toMatchObject({
      delivered: false,
      attempt: { statusCode: 500, error: 'responded with 500' },
    });
    expect(await claimDeliveries(context, { limit: 10 })).toEqual([]);
    const later = await createTestDelivery(db, actor, channelId, 'default');
    await recordOutcome(context, await claimOne(context), { kind: 'delivered' });
    expect(await findTestOutcome(db, later)).toMatchObject({ delivered: true });
    expect(await db.select().from(channels)).toMatchObject([health]);
  });

  test('neither waits for other deliveries nor delays them, and is not held by disabling', async () => {
    await db.update(channels).set({ attemptLimit: 1 });
    await alertOf(context, monitorId, 'DOWN');
    const id = await createTestDelivery(db, actor, channelId, 'default');
    const claimed = await claimDeliveries(context, { limit: 10 });
    expect(new Set(claimed.map((delivery) => delivery.test))).toEqual(new Set([false, true]));
    expect(claimed).toHaveLength(2);
    await updateChannel(context, actor, channelId, { enabled: false });
    expect((await getDelivery(db, accountId, id)).state).toBe('pending');
    await db.update(channels).set({ enabled: true, failingSince: new Date(0), lastFailedAt: new Date() });
    expect(await disableExhausted(context)).toEqual([channelId]);
    await holdForDisabledChannels(db);
    expect((await getDelivery(db, accountId, id)).state).toBe('pending');
  });

  test('is not sent after it is abandoned, and is deleted with its channel', async () => {
    const id = await createTestDelivery(db, actor, channelId, 'default');
    await abandonTestDelivery(db, id);
    expect(await claimDeliveries(context, { limit: 10 })).toEqual([]);
    expect((await getDelivery(db, accountId, id)).state).toBe('failed');
    await deleteChannel(db, actor, channelId);
    expect(await findTestOutcome(db, id)).toBeUndefined();
    const missing = createTestDelivery(db, actor, channelId, 'default');
    await expect(missing).rejects.toMatchObject({ code: 'not_found' });
  });
});
