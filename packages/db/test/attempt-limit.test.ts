import { beforeEach, describe, expect, test } from '@jest/globals';
import { type ChannelRow, channels } from '@tocsin/db/channels/table';
import { updateChannel } from '@tocsin/db/channels/write-channels';
import { claimDeliveries, type ClaimedDelivery } from '@tocsin/db/deliveries/claim-deliveries';
import { type AttemptRecord, recordAttempt, recordDelivered } from '@tocsin/db/deliveries/record-attempt';
import { createTestDelivery } from '@tocsin/db/deliveries/test-deliveries';
import { eq, sql } from 'drizzle-orm';
import { addDeliveries, attemptOf, makeChannel, readDeliveryLog } from './delivery-steps.ts';
import { useTestContext } from './harness.ts';

const context = await useTestContext();
const { db, actor } = context;

let channelId: string;

beforeEach(async () => {
  await db.execute(sql`truncate monitors, channels, status_changes, deliveries cascade`);
  channelId = await makeChannel(context, []);
});

const addDue = (count: number, id = channelId): Promise<void> => addDeliveries(context, id, count);

async function setChannel(values: Partial<typeof channels.$inferInsert>): Promise<void> {
  await db.update(channels).set(values).where(eq(channels.id, channelId));
}

async function readChannel(): Promise<ChannelRow> {
  const [row] = await db.select().from(channels).where(eq(channels.id, channelId));
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
  test.each([1, 10, 50])(
    '%i attempts run at the same time, and the last one reaches the limit',
    async (limit) => {
      await setChannel({ attemptLimit: limit });
      await addDue(120);
      const claimed = await claim();
      expect(claimed).toHaveLength(limit);
      expect(claimed.filter(({ isLimitReached }) => isLimitReached)).toHaveLength(1);
      expect(claimed.every(({ attemptLimit }) => attemptLimit === limit)).toBe(true);
      expect(await claim()).toEqual([]);
      // Another one may run as soon as an attempt has ended, even before it is recorded.
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
    await recordAttempt(db, deliveredOf(one, { nextAttemptLimit: 13 }));
    expect((await readChannel()).attemptLimit).toBe(13);
    await recordAttempt(db, { ...attemptOf(two, RETRY, 503), nextAttemptLimit: 5 });
    expect((await readChannel()).attemptLimit).toBe(13);
    await recordAttempt(db, { ...attemptOf(three, RETRY, 503), attemptLimit: 13, nextAttemptLimit: 6 });
    expect((await readChannel()).attemptLimit).toBe(6);
  });

  test('does not change after an attempt at a former URL or a test event', async () => {
    await addDue(2);
    const [one, two] = await claim();
    if (!one || !two) throw new Error('too few claimed');
    const testId = await createTestDelivery(db, actor, channelId, 'default');
    const [probe] = await claim();
    if (probe?.id !== testId) throw new Error('the test event was not claimed');
    const url = 'https://hooks.example/new';
    await updateChannel(context, actor, channelId, { url });
    const overloaded = { nextAttemptLimit: 5, pauseMs: 60_000 };
    await recordAttempt(db, deliveredOf(one, { nextAttemptLimit: 13 }));
    await recordAttempt(db, { ...attemptOf(two, RETRY, 503), ...overloaded });
    await recordAttempt(db, { ...attemptOf(probe, { kind: 'failed' }, 503), url, ...overloaded });
    expect(await readChannel()).toMatchObject({ attemptLimit: 10, pausedUntil: null });
  });

  test('among attempts that are recorded together, the lowest limit after one to the current URL decides', async () => {
    await addDue(5);
    await setChannel({ failingSince: new Date() });
    const next = [10, 13, 5, 13];
    const attempts = (await claim()).map((delivery, index) =>
      index === 4
        ? deliveredOf(delivery, { url: 'https://hooks.example/former', nextAttemptLimit: 4 })
        : deliveredOf(delivery, { nextAttemptLimit: next[index] ?? 10 }),
    );
    await recordDelivered(db, attempts);
    expect(await readChannel()).toMatchObject({ attemptLimit: 5, failingSince: null });
  });

  test('holds for concurrent claims, and no delivery is lost or attempted twice', async () => {
    const ids = [channelId, await makeChannel(context, []), await makeChannel(context, [])];
    const limits = [1, 4, 12];
    const COUNT = 25;
    for (const [index, id] of ids.entries()) {
      await db.update(channels).set({ attemptLimit: limits[index] }).where(eq(channels.id, id));
      await addDue(COUNT, id);
    }
    const excesses: unknown[] = [];
    let done = 0;
    const notifier = async (): Promise<void> => {
      while (done < COUNT * ids.length) {
        const claimed = await claim(20);
        const { rows } = await db.execute(sql`
          select c.id, c.attempt_limit, count(*) from channels c join deliveries d on d.channel_id = c.id and d.leased_until > now()
          group by c.id having count(*) > c.attempt_limit`);
        excesses.push(...rows);
        const attempts = claimed.map((delivery) => deliveredOf(delivery));
        if (attempts.length > 0) await recordDelivered(db, attempts);
        done += claimed.length;
      }
    };
    await Promise.all([notifier(), notifier(), notifier(), notifier()]);
    expect(excesses).toEqual([]);
    for (const id of ids) {
      const log = await readDeliveryLog(db, id);
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
      recordDelivered(db, batch),
      recordDelivered(db, batch.toReversed()),
      recordDelivered(db, batch.slice(10, 20)),
      ...batch.slice(0, 5).map((attempt) => recordAttempt(db, attempt)),
    ]);
    expect(await readChannel()).toMatchObject({ failingSince: null });
    const failingSince = new Date();
    await setChannel({ failingSince });
    await recordDelivered(db, batch);
    expect(await readChannel()).toMatchObject({ failingSince });
    const log = await readDeliveryLog(db, channelId);
    expect(log).toHaveLength(30);
    for (const delivery of log) {
      const attempts = [{ number: 1, statusCode: 200, error: null }];
      const ended = { state: 'delivered', leaseToken: null, nextAttemptAt: null };
      expect(delivery).toMatchObject({ ...ended, attemptCount: 1, attempts });
    }
  });

  test('are ignored if their deliveries were deleted with the channel', async () => {
    await addDue(2);
    const batch = (await claim()).map((delivery) => deliveredOf(delivery));
    await db.execute(sql`delete from channels`);
    await expect(recordDelivered(db, batch)).resolves.toBeUndefined();
  });
});

describe('a receiver that requests a pause', () => {
  async function pause(pauseMs: number): Promise<void> {
    const [delivery] = await claim(1);
    if (!delivery) throw new Error('nothing claimed');
    await recordAttempt(db, { ...attemptOf(delivery, RETRY, 429), nextAttemptLimit: 5, pauseMs });
  }

  test('gets no attempt until its end, while other channels and test events do not wait', async () => {
    const other = await makeChannel(context, []);
    await addDue(3);
    await addDue(3, other);
    await pause(60_000);
    await setChannel({ failingSince: null });
    const testId = await createTestDelivery(db, actor, channelId, 'default');
    const claimed = await claim();
    expect(claimed.filter(({ channelId: id }) => id === channelId).map(({ id }) => id)).toEqual([testId]);
    expect(claimed.some(({ channelId: id }) => id === other)).toBe(true);
    await db.execute(
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
    await recordAttempt(db, { ...attemptOf(delivery, RETRY, 429), pauseMs: 1_000 });
    expect(await readChannel()).toMatchObject({ pausedUntil });
  });

  test('is no longer paused once its channel has another URL', async () => {
    await addDue(2);
    await pause(60_000);
    await updateChannel(context, actor, channelId, { url: 'https://hooks.example/new' });
    expect(await claim()).toHaveLength(1);
  });
});

describe('channels with a high limit', () => {
  const BUSY = 8;

  test('share the whole capacity, and others of the account do not wait for attempts beyond the tenth of each', async () => {
    const busy = [channelId];
    while (busy.length < BUSY) busy.push(await makeChannel(context, []));
    await db.update(channels).set({ attemptLimit: 50 });
    for (const id of busy) await addDue(60, id);
    const capacity = BUSY * 10 + 28;
    const claimed = await claim(capacity);
    expect(claimed).toHaveLength(capacity);
    const counts = busy.map((id) => claimed.filter((one) => one.channelId === id).length);
    expect([Math.min(...counts), Math.max(...counts)]).toEqual([13, 14]);
    const quiet = await makeChannel(context, []);
    await addDue(3, quiet);
    const next = await claimDeliveries(context, { limit: 0, capacity });
    expect(next.map((one) => one.channelId)).toEqual([quiet, quiet, quiet]);
  });
});
