import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { channels } from '@tocsin/db/channels/table';
import { claimDeliveries, type ClaimedDelivery } from '@tocsin/db/deliveries/claim-deliveries';
import { type AttemptOutcome, recordAttempt } from '@tocsin/db/deliveries/record-attempt';
import { dispatchStatusChanges } from '@tocsin/db/status-changes/dispatch-status-changes';
import { eq, sql } from 'drizzle-orm';
import { readDeliveryLog } from './delivery-log.ts';
import { attemptOf, changeStatus, makeChannel, recordOutcome } from './delivery-steps.ts';
import { makeMonitor, openTestContext, readClock, type TestContext } from './harness.ts';

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
  channelId = await makeChannel(context);
});

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

describe('recordAttempt', () => {
  async function dispatched(): Promise<ClaimedDelivery> {
    await change('DOWN');
    await dispatchStatusChanges(context.db, { limit: 10 });
    const [delivery] = await claim();
    if (!delivery) throw new Error('nothing claimed');
    return delivery;
  }

  test('a success completes the delivery and resets the channel’s failures', async () => {
    const delivery = await dispatched();
    await setChannel({ failingSince: new Date() });
    expect(await record(delivery, { kind: 'delivered' })).toBeNull();
    const [log] = await readDeliveryLog(context.db, channelId);
    expect(log).toMatchObject({ state: 'delivered', nextAttemptAt: null, attemptCount: 1, leaseToken: null });
    expect(log?.attempts).toEqual([expect.objectContaining({ number: 1, statusCode: 200, error: null })]);
    const [channel] = await context.db.select().from(channels).where(eq(channels.id, channelId));
    expect(channel?.failingSince).toBeNull();
  });

  test('a claim returns its time by Postgres’ clock', async () => {
    const before = await readClock(context);
    const { claimedAt } = await dispatched();
    // It returns whole milliseconds.
    expect(claimedAt.getTime()).toBeGreaterThan(before - 1);
    expect(claimedAt.getTime()).toBeLessThanOrEqual(await readClock(context));
  });

  test('a failure schedules the next attempt by Postgres’ clock', async () => {
    const delivery = await dispatched();
    const before = await readClock(context);
    await record(delivery, { kind: 'retry', delayMs: 60_000 });
    const after = await readClock(context);
    const [log] = await readDeliveryLog(context.db, channelId);
    expect(log).toMatchObject({ id: delivery.id, state: 'pending' });
    // Whole milliseconds are stored.
    expect(log?.nextAttemptAt?.getTime()).toBeGreaterThanOrEqual(before + 60_000 - 1);
    expect(log?.nextAttemptAt?.getTime()).toBeLessThanOrEqual(after + 60_000 + 1);
  });

  test('after a lost lease, a failure only enters the log and a success counts', async () => {
    const first = await dispatched();
    await context.db.execute(
      sql`update deliveries set leased_until = now() - interval '1 second' where leased_until is not null`,
    );
    const [second] = await claim();
    if (!second) throw new Error('nothing claimed');
    await record(first, { kind: 'retry', delayMs: 3_600_000 });
    let [log] = await readDeliveryLog(context.db, channelId);
    expect(log).toMatchObject({ leaseToken: second.leaseToken, state: 'pending', attemptCount: 1 });
    const [channel] = await context.db.select().from(channels).where(eq(channels.id, channelId));
    expect(channel?.failingSince).toBeNull();
    await record(first, { kind: 'delivered' });
    [log] = await readDeliveryLog(context.db, channelId);
    expect(log).toMatchObject({ state: 'delivered', attemptCount: 2 });
  });

  test.each<[string, AttemptOutcome]>([
    ['a success', { kind: 'delivered' }],
    ['a failure', { kind: 'retry', delayMs: 60_000 }],
    ['the end of a channel', { kind: 'gone' }],
  ])(
    '%s is recorded once, even if it is repeated after a lost response to its commit',
    async (_, outcome) => {
      const attempt = attemptOf(await dispatched(), outcome);
      await Promise.all([recordAttempt(context.db, attempt), recordAttempt(context.db, attempt)]);
      const [before] = await readDeliveryLog(context.db, channelId);
      await setChannel({ enabled: true, disabledReason: null, failingSince: null });
      await recordAttempt(context.db, attempt);
      const [log] = await readDeliveryLog(context.db, channelId);
      expect(log?.attempts.map(({ number }) => number)).toEqual([1]);
      expect(log).toMatchObject({ attemptCount: 1, roundAttemptCount: 1 });
      expect(log).toEqual(before);
      const [channel] = await context.db.select().from(channels).where(eq(channels.id, channelId));
      expect(channel).toMatchObject({ enabled: true, failingSince: null });
    },
  );

  test('a 410 disables the channel and holds its pending deliveries', async () => {
    const delivery = await dispatched();
    expect(await record(delivery, { kind: 'gone' }, 410)).toBe('The receiver responded with 410 Gone.');
    const log = await readDeliveryLog(context.db, channelId);
    expect(log.map((entry) => entry.state)).toEqual(['failed', 'held']);
    await change('UP');
    await dispatchStatusChanges(context.db, { limit: 10 });
    expect((await readDeliveryLog(context.db, channelId)).map((entry) => entry.state)).toEqual([
      'failed',
      'held',
      'held',
      'held',
    ]);
  });
});
