import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { deliveryDetailSchema, deliverySchema } from '@tocsin/contracts/deliveries/delivery';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { updateChannel } from '@tocsin/db/channels/write-channels';
import { claimDeliveries } from '@tocsin/db/deliveries/claim-deliveries';
import { getDelivery, listDeliveries } from '@tocsin/db/deliveries/read-deliveries';
import { redeliver, redeliverUndelivered } from '@tocsin/db/deliveries/redeliver';
import { createTestDelivery, abandonTestDelivery } from '@tocsin/db/deliveries/test-deliveries';
import { sql } from 'drizzle-orm';
import { readDeliveryLog } from './delivery-log.ts';
import {
  alertOf,
  claimOne,
  endLeases,
  makeAccount,
  makeChannel,
  recordOutcome,
  redeliverAll,
} from './delivery-steps.ts';
import { makeMonitor, openTestContext, type TestContext } from './harness.ts';

const EVER = { since: new Date(0), until: new Date('2100-01-01') };
let context: TestContext;
let accountId: string;
let monitorId: string;
let channelId: string;

beforeAll(async () => {
  context = await openTestContext();
  accountId = context.accountId;
});
afterAll(() => context.close());

beforeEach(async () => {
  await context.db.execute(sql`truncate monitors, channels, status_changes, deliveries cascade`);
  monitorId = (await makeMonitor(context)).id;
  channelId = await makeChannel(context);
});

/** The first delivery, after this many failed attempts and this final outcome. */
async function spent(ends: 'delivered' | 'failed', failures = 0): Promise<string> {
  await alertOf(context, monitorId, 'DOWN');
  for (let attempt = 0; attempt < failures; attempt += 1) {
    const claimed = await claimOne(context);
    await recordOutcome(context, claimed, { kind: 'retry', delayMs: 0 });
    await context.db.execute(sql`update deliveries set next_attempt_at = null where id <> ${claimed.id}`);
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
      await context.db.execute(sql`update deliveries set first_attempt_at = now() - interval '71 hours'`);
      const due = await redeliver(context.db, accountId, id);
      expect(deliverySchema.parse(due)).toMatchObject({ id, state: 'pending', attemptCount: 3 });
      const [again] = await claimDeliveries(context, { deliveryId: id });
      if (!again) throw new Error('not claimed');
      expect(again).toMatchObject({ attemptCount: 3, roundAttemptCount: 0 });
      expect(again.elapsedMs).toBeLessThan(1_000);
      await recordOutcome(context, again, { kind: 'retry', delayMs: 5_000 });
      const detail = deliveryDetailSchema.parse(await getDelivery(context.db, accountId, id));
      expect(detail.attempts.map((attempt) => attempt.number)).toEqual([1, 2, 3, 4]);
      expect(detail).toMatchObject({ state: 'pending', attemptCount: 4 });
      const [row] = await readDeliveryLog(context.db, channelId);
      expect(row).toMatchObject({ roundAttemptCount: 1 });
    },
  );

  test('is refused while an attempt is running; after its lease, a late failure only enters the log', async () => {
    await alertOf(context, monitorId, 'DOWN');
    const running = await claimOne(context);
    await expect(redeliver(context.db, accountId, running.id)).rejects.toMatchObject({ code: 'conflict' });
    await endLeases(context);
    await redeliver(context.db, accountId, running.id);
    await recordOutcome(context, running, { kind: 'failed' });
    const [row] = await readDeliveryLog(context.db, channelId);
    expect(row).toMatchObject({ state: 'pending', attemptCount: 1, roundAttemptCount: 0, leaseToken: null });
    expect((await claimDeliveries(context, { deliveryId: running.id })).map(({ id }) => id)).toEqual([
      running.id,
    ]);
  });

  test('a race with a claim leaves the delivery due or running, never lost', async () => {
    for (let round = 0; round < 15; round += 1) {
      await context.db.execute(sql`truncate status_changes, deliveries cascade`);
      const [id = ''] = await alertOf(context, monitorId, round % 2 === 0 ? 'DOWN' : 'UP');
      const [claims, redelivered] = await Promise.allSettled([
        claimDeliveries(context, { limit: 10 }),
        redeliver(context.db, accountId, id),
      ]);
      if (claims.status === 'rejected') throw claims.reason;
      const claimed = claims.value.find((delivery) => delivery.id === id);
      const log = await readDeliveryLog(context.db, channelId);
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
    await expect(redeliver(context.db, other, id)).rejects.toMatchObject({ code: 'not_found' });
    await updateChannel(context.db, systemActor(accountId), channelId, { enabled: false });
    const refusal = { code: 'conflict', message: expect.stringContaining('enable it first') };
    await expect(redeliver(context.db, accountId, id)).rejects.toMatchObject(refusal);
    await expect(redeliverAll(context, channelId)).rejects.toMatchObject(refusal);
    const ofOther = redeliverAll({ ...context, accountId: other }, channelId);
    await expect(ofOther).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('redeliverUndelivered', () => {
  test('releases held deliveries in the order of the events', async () => {
    await updateChannel(context.db, systemActor(accountId), channelId, { enabled: false });
    await alertOf(context, monitorId, 'DOWN');
    await alertOf(context, monitorId, 'UP');
    await updateChannel(context.db, systemActor(accountId), channelId, { enabled: true });
    expect(await claimDeliveries(context, { limit: 10 })).toEqual([]);
    const ids = await redeliverAll(context, channelId);
    const log = await readDeliveryLog(context.db, channelId);
    expect(ids).toEqual(log.map(({ id }) => id));
    const seen: string[] = [];
    for (let round = 0; round < 4; round += 1) {
      const claimed = await claimOne(context);
      seen.push(claimed.event);
      await recordOutcome(context, claimed, { kind: 'retry', delayMs: 60_000 });
    }
    expect(seen).toEqual(['monitor.down', 'incident.created', 'monitor.up', 'incident.resolved']);
  });

  /** A channel with 2,500 held deliveries. */
  async function makeBacklog(): Promise<string> {
    const other = await makeChannel(context, []);
    await context.db.execute(sql`
      insert into deliveries (id, account_id, channel_id, status_change_id, monitor_id, event, timestamp, payload, state, next_attempt_at)
      select gen_random_uuid(), ${accountId}, ${other}, gen_random_uuid(), ${monitorId}, 'monitor.down',
        now() - (3000 - i) * interval '1 minute', i, 'held', null
      from generate_series(1, 2500) i`);
    return other;
  }

  test('reads a long backlog in parts, and returns how many remain', async () => {
    const other = await makeBacklog();
    const last: number[] = [];
    for (let calls = 0; calls < 3; calls += 1) {
      for await (const { remaining } of redeliverUndelivered(context.db, accountId, other, EVER, 1_000))
        last[calls] = remaining;
    }
    expect(last).toEqual([1, 1, 0]);
    const { rows } = await context.db.execute(sql`select from deliveries where state = 'held'`);
    expect(rows).toHaveLength(0);
  });

  test('continues where an earlier call stopped, however long the range is', async () => {
    const other = await makeBacklog();
    const seen: (readonly string[])[] = [];
    for (const remaining of [1_500, 500, 0]) {
      const slices = redeliverUndelivered(context.db, accountId, other, EVER);
      const { value } = await slices.next();
      await slices.return();
      seen.push(value?.ids ?? []);
      expect(value).toMatchObject({ remaining });
    }
    expect(new Set(seen.slice(0, 2).flat()).size).toBe(2_000);
    const { rows } = await context.db.execute(sql`select from deliveries where state = 'held'`);
    expect(rows).toHaveLength(0);
  });

  test('releases undelivered events in [since, until), except running attempts and test events', async () => {
    const delivered = await spent('delivered');
    const [, second] = await readDeliveryLog(context.db, channelId);
    if (!second) throw new Error('no second delivery');
    const testId = await createTestDelivery(context.db, accountId, channelId, 'default');
    await abandonTestDelivery(context.db, testId);
    const from = (since: Date, until: Date): Promise<string[]> =>
      redeliverAll(context, channelId, { since, until });
    expect(await from(EVER.since, second.timestamp)).toEqual([]);
    expect(await from(second.timestamp, EVER.until)).toEqual([second.id]);
    expect(await from(new Date(second.timestamp.getTime() + 1), EVER.until)).toEqual([]);
    const running = await claimOne(context);
    expect(running.id).toBe(second.id);
    expect(await from(EVER.since, EVER.until)).toEqual([]);
    expect((await getDelivery(context.db, accountId, delivered)).state).toBe('delivered');
  });

  test('an earlier event without an attempt is still sent first', async () => {
    const [first = '', second = ''] = (await alertOf(context, monitorId, 'DOWN')).toSorted();
    const log = await readDeliveryLog(context.db, channelId);
    const [earlier, later] = [log[0]?.id ?? '', log[1]?.id ?? ''];
    expect([earlier, later].toSorted()).toEqual([first, second]);
    await context.db.execute(
      sql`update deliveries set state = 'failed', attempt_count = 5 where id = ${later}`,
    );
    await redeliver(context.db, accountId, later);
    expect(await claimDeliveries(context, { deliveryId: later })).toEqual([]);
    const claimed = await claimOne(context);
    expect(claimed.id).toBe(earlier);
    await recordOutcome(context, claimed, { kind: 'retry', delayMs: 60_000 });
    expect((await claimOne(context)).id).toBe(later);
  });

  test('two redeliveries and alerts at the same time do not deadlock', async () => {
    await updateChannel(context.db, systemActor(accountId), channelId, { enabled: false });
    for (let round = 0; round < 10; round += 1) {
      await alertOf(context, monitorId, round % 2 === 0 ? 'DOWN' : 'UP');
    }
    await updateChannel(context.db, systemActor(accountId), channelId, { enabled: true });
    const [one, other] = await Promise.all([
      redeliverAll(context, channelId),
      redeliverAll(context, channelId),
      alertOf(context, monitorId, 'DOWN'),
      updateChannel(context.db, systemActor(accountId), channelId, { name: 'renamed' }),
    ]);
    expect(Math.min(one.length, other.length)).toBeGreaterThanOrEqual(20);
  });
});

describe('listDeliveries', () => {
  test('pages from the newest, also for deliveries of the same millisecond', async () => {
    for (let round = 0; round < 4; round += 1) {
      await alertOf(context, monitorId, round % 2 === 0 ? 'DOWN' : 'UP');
    }
    await context.db.execute(sql`update deliveries set created_at = '2026-11-20T12:00:00Z'`);
    const paged: string[] = [];
    for (let before: string | undefined; ; before = paged.at(-1)) {
      const page = await listDeliveries(context.db, channelId, { limit: 3, before });
      if (page.length === 0) break;
      paged.push(...page.map(({ id }) => id));
    }
    const all = await listDeliveries(context.db, channelId, { limit: 100 });
    expect(paged).toEqual(all.map(({ id }) => id));
    expect(new Set(paged).size).toBe(8);
  });

  test('filters by state; a cursor of another channel is refused', async () => {
    await spent('failed');
    const failed = await listDeliveries(context.db, channelId, { limit: 10, state: 'failed' });
    expect(failed).toHaveLength(1);
    const other = await makeChannel(context, []);
    const wrong = listDeliveries(context.db, other, { limit: 10, before: failed[0]?.id });
    await expect(wrong).rejects.toMatchObject({
      code: 'validation_failed',
      errors: [expect.objectContaining({ path: 'before' })],
    });
  });
});
