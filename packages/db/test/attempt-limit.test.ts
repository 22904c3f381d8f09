import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { channels, type ChannelRow } from '@tocsin/db/channels/table';
import { updateChannel } from '@tocsin/db/channels/write-channels';
import { claimDeliveries, type ClaimedDelivery } from '@tocsin/db/deliveries/claim-deliveries';
import { type AttemptRecord, recordAttempt, recordDelivered } from '@tocsin/db/deliveries/record-attempt';
import { createTestDelivery } from '@tocsin/db/deliveries/test-deliveries';
import { eq, sql } from 'drizzle-orm';
import { readDeliveryLog } from './delivery-log.ts';
import { attemptOf, makeChannel } from './delivery-steps.ts';
import { openTestContext, type TestContext } from './harness.ts';

let context: TestContext;
let channelId: string;

beforeAll(async () => {
  context = await openTestContext();
});
afterAll(() => context.close());

beforeEach(async () => {
  await context.db.execute(sql`truncate monitors, channels, status_changes, deliveries cascade`);
  channelId = await makeChannel(context, []);
});

/** Due deliveries of as many monitors to a channel. */
async function addDue(count: number, id = channelId): Promise<void> {
  await context.db.execute(sql`
    insert into deliveries (id, account_id, channel_id, status_change_id, monitor_id, event, timestamp, payload, state)
    select gen_random_uuid(), ${context.accountId}, ${id}, gen_random_uuid(), gen_random_uuid(), 'monitor.down', now(), '{}', 'pending'
    from generate_series(1, ${count}::int)`);
}

async function setChannel(values: Partial<typeof channels.$inferInsert>): Promise<void> {
  await context.db.update(channels).set(values).where(eq(channels.id, channelId));
}

async function readChannel(): Promise<ChannelRow> {
  const [row] = await context.db.select().from(channels).where(eq(channels.id, channelId));
  if (row === undefined) throw new Error('no channel');
  return row;
}

const claim = (limit = 1_000): Promise<ClaimedDelivery[]> => claimDeliveries(context, { limit });

const DELIVERED = { kind: 'delivered' } as const;
const RETRY = { kind: 'retry', delayMs: 60_000 } as const;

function deliveredOf(delivery: ClaimedDelivery, changes: Partial<AttemptRecord> = {}): AttemptRecord {
  return { ...attemptOf(delivery, DELIVERED), ...changes };
}

describe('the limit of a channel', () => {
  test.each([1, 7, 50])(
    '%i attempts run at the same time, and the last one reaches the limit',
    async (limit) => {
      await setChannel({ attemptLimit: limit });
      await addDue(120);
      const claimed = await claim();
      expect(claimed).toHaveLength(limit);
      expect(claimed.filter(({ isLimitReached }) => isLimitReached)).toHaveLength(1);
      expect(claimed.every(({ attemptLimit }) => attemptLimit === limit)).toBe(true);
      expect(claimed.filter(({ isExtra }) => isExtra)).toHaveLength(Math.max(0, limit - 10));
      expect(await claim()).toEqual([]);
      // One more as soon as an attempt has ended, also before it is recorded.
      const [first] = claimed;
      if (first === undefined) throw new Error('nothing claimed');
      const more = await claimDeliveries(context, { limit: 1_000, endedIds: [first.id] });
      expect(more).toHaveLength(1);
      expect(more[0]?.monitorId).not.toBe(first.monitorId);
    },
  );

  test('changes only if it is still the limit that the attempt started with', async () => {
    await addDue(3);
    const [one, two, three] = await claim();
    if (!one || !two || !three) throw new Error('too few claimed');
    await recordAttempt(context.db, deliveredOf(one, { nextAttemptLimit: 13 }));
    expect((await readChannel()).attemptLimit).toBe(13);
    await recordAttempt(context.db, { ...attemptOf(two, RETRY, 503), nextAttemptLimit: 5 });
    expect((await readChannel()).attemptLimit).toBe(13);
    await recordAttempt(context.db, {
      ...attemptOf(three, RETRY, 503),
      attemptLimit: 13,
      nextAttemptLimit: 6,
    });
    expect((await readChannel()).attemptLimit).toBe(6);
  });

  test('does not change after an attempt at a former URL or a test event', async () => {
    await addDue(2);
    const [one, two] = await claim();
    if (!one || !two) throw new Error('too few claimed');
    const testId = await createTestDelivery(context.db, context.accountId, channelId, 'default');
    const [probe] = await claimDeliveries(context, { deliveryId: testId });
    if (!probe) throw new Error('the test event was not claimed');
    const url = 'https://hooks.example/new';
    await updateChannel(context.db, systemActor(context.accountId), channelId, { url });
    const overloaded = { nextAttemptLimit: 5, pauseMs: 60_000 };
    await recordAttempt(context.db, deliveredOf(one, { nextAttemptLimit: 13 }));
    await recordAttempt(context.db, { ...attemptOf(two, RETRY, 503), ...overloaded });
    await recordAttempt(context.db, { ...attemptOf(probe, { kind: 'failed' }, 503), url, ...overloaded });
    expect(await readChannel()).toMatchObject({ attemptLimit: 10, pausedUntil: null });
  });

  test('of attempts recorded together, the one with the lowest limit decides', async () => {
    await addDue(4);
    const claimed = await claim();
    const next = [10, 13, 5, 13];
    await recordDelivered(
      context.db,
      claimed.map((delivery, index) => deliveredOf(delivery, { nextAttemptLimit: next[index] ?? 10 })),
    );
    expect((await readChannel()).attemptLimit).toBe(5);
  });

  test('of attempts recorded together, one at a former URL does not hide one at the current URL', async () => {
    await addDue(2);
    const [former, current] = await claim();
    if (!former || !current) throw new Error('too few claimed');
    await setChannel({ failingSince: new Date() });
    await recordDelivered(context.db, [
      deliveredOf(former, { url: 'https://hooks.example/former', nextAttemptLimit: 13 }),
      deliveredOf(current, { nextAttemptLimit: 12 }),
    ]);
    expect(await readChannel()).toMatchObject({ attemptLimit: 12, failingSince: null });
  });

  test('holds for concurrent claims, and no delivery is lost or attempted twice', async () => {
    const ids = [channelId, await makeChannel(context, []), await makeChannel(context, [])];
    const limits = [1, 4, 25];
    const COUNT = 60;
    for (const [index, id] of ids.entries()) {
      await context.db.update(channels).set({ attemptLimit: limits[index] }).where(eq(channels.id, id));
      await addDue(COUNT, id);
    }
    const excesses: unknown[] = [];
    let done = 0;
    const notifier = async (): Promise<void> => {
      while (done < COUNT * ids.length) {
        const claimed = await claim(20);
        const { rows } = await context.db.execute(sql`
          select c.id, c.attempt_limit, count(*) from channels c join deliveries d on d.channel_id = c.id and d.leased_until > now()
          group by c.id having count(*) > c.attempt_limit`);
        excesses.push(...rows);
        if (claimed.length > 0) {
          await recordDelivered(
            context.db,
            claimed.map((delivery) => deliveredOf(delivery)),
          );
        }
        done += claimed.length;
      }
    };
    await Promise.all([notifier(), notifier(), notifier(), notifier()]);
    expect(excesses).toEqual([]);
    for (const id of ids) {
      const log = await readDeliveryLog(context.db, id);
      expect(log.map(({ state, attempts }) => [state, attempts.length])).toEqual(
        log.map(() => ['delivered', 1]),
      );
      expect(log).toHaveLength(COUNT);
    }
  });
});

describe('attempts recorded together', () => {
  test('are in the log once, even if batches overlap and are repeated', async () => {
    await setChannel({ attemptLimit: 30, failingSince: new Date() });
    await addDue(30);
    const batch = (await claim()).map((delivery) => deliveredOf(delivery));
    await Promise.all([
      recordDelivered(context.db, batch),
      recordDelivered(context.db, batch.toReversed()),
      recordDelivered(context.db, batch.slice(10, 20)),
      ...batch.slice(0, 5).map((attempt) => recordAttempt(context.db, attempt)),
    ]);
    expect(await readChannel()).toMatchObject({ failingSince: null });
    const failingSince = new Date();
    await setChannel({ failingSince });
    await recordDelivered(context.db, batch);
    expect(await readChannel()).toMatchObject({ failingSince });
    const log = await readDeliveryLog(context.db, channelId);
    expect(log).toHaveLength(30);
    for (const delivery of log) {
      expect(delivery).toMatchObject({
        state: 'delivered',
        attemptCount: 1,
        leaseToken: null,
        nextAttemptAt: null,
      });
      expect(delivery.attempts).toEqual([
        expect.objectContaining({ number: 1, statusCode: 200, error: null }),
      ]);
    }
  });

  test('are ignored if their deliveries were deleted with the channel', async () => {
    await addDue(2);
    const batch = (await claim()).map((delivery) => deliveredOf(delivery));
    await context.db.execute(sql`delete from channels`);
    await expect(recordDelivered(context.db, batch)).resolves.toBeUndefined();
  });
});

describe('a receiver that requests a pause', () => {
  async function pause(pauseMs: number): Promise<void> {
    const [delivery] = await claim(1);
    if (!delivery) throw new Error('nothing claimed');
    await recordAttempt(context.db, { ...attemptOf(delivery, RETRY, 429), nextAttemptLimit: 5, pauseMs });
  }

  test('gets no attempt until its end, not even by a job; other channels and test events do not wait', async () => {
    const other = await makeChannel(context, []);
    await addDue(3);
    await addDue(3, other);
    await pause(60_000);
    await setChannel({ failingSince: null });
    const testId = await createTestDelivery(context.db, context.accountId, channelId, 'default');
    const claimed = await claim();
    expect(claimed.filter(({ channelId: id }) => id === channelId).map(({ id }) => id)).toEqual([testId]);
    expect(claimed.some(({ channelId: id }) => id === other)).toBe(true);
    for (const { id } of await readDeliveryLog(context.db, channelId)) {
      expect(await claimDeliveries(context, { deliveryId: id })).toEqual([]);
    }
    await context.db.execute(
      sql`update channels set paused_until = now() - interval '1 second' where id = ${channelId}`,
    );
    expect(await claim()).not.toEqual([]);
  });

  test('a shorter pause does not end a longer one', async () => {
    await addDue(2);
    await pause(60_000);
    const { pausedUntil } = await readChannel();
    await setChannel({ pausedUntil: null });
    const [delivery] = await claim(1);
    if (!delivery || !pausedUntil) throw new Error('nothing claimed');
    await setChannel({ pausedUntil });
    await recordAttempt(context.db, { ...attemptOf(delivery, RETRY, 429), pauseMs: 1_000 });
    expect(await readChannel()).toMatchObject({ pausedUntil });
  });

  test('is not paused any more once its channel has another URL', async () => {
    await addDue(2);
    await pause(60_000);
    await updateChannel(context.db, systemActor(context.accountId), channelId, {
      url: 'https://hooks.example/new',
    });
    expect(await claim()).toHaveLength(1);
  });
});

describe('channels with a high limit', () => {
  const BUSY = 20;

  test('share the attempts beyond the tenth of each, and leave room for others', async () => {
    const busy = [channelId];
    while (busy.length < BUSY) busy.push(await makeChannel(context, []));
    await context.db.update(channels).set({ attemptLimit: 50 });
    for (const id of busy) await addDue(60, id);
    const claimed = await claimDeliveries(context, { limit: 300, extraLimit: 70 });
    expect(claimed.filter(({ isExtra }) => isExtra)).toHaveLength(70);
    expect(claimed).toHaveLength(BUSY * 10 + 70);
    const counts = busy.map((id) => claimed.filter((one) => one.channelId === id).length);
    expect([Math.min(...counts), Math.max(...counts)]).toEqual([13, 14]);
    const quiet = await makeChannel(context, []);
    await addDue(3, quiet);
    const next = await claimDeliveries(context, { limit: 30, extraLimit: 0 });
    expect(next.map((one) => one.channelId)).toEqual([quiet, quiet, quiet]);
  });

  test('wait for the first attempts of other channels, however long they have waited', async () => {
    await setChannel({ attemptLimit: 50 });
    await addDue(100);
    await context.db.execute(sql`update deliveries set next_attempt_at = now() - interval '1 hour'`);
    const quiet = await makeChannel(context, []);
    await addDue(1, quiet);
    const claimed = await claim(2);
    expect(claimed.map((one) => one.channelId).toSorted()).toEqual([channelId, quiet].toSorted());
  });
});
