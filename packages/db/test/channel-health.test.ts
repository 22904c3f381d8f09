import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Channel } from '@tocsin/contracts/channel';
import { disableExhaustedChannels } from '@tocsin/db/channels/disable-exhausted-channels';
import { getChannel } from '@tocsin/db/channels/get-channel';
import { channels } from '@tocsin/db/channels/table';
import { updateChannel } from '@tocsin/db/channels/update-channel';
import type { ClaimedDelivery } from '@tocsin/db/deliveries/claim-deliveries';
import { eq, sql } from 'drizzle-orm';
import { readDeliveryLog } from './delivery-log.ts';
import { alertOf, claimOne, endLeases, makeChannel, recordOutcome } from './delivery-steps.ts';
import { makeMonitor, openTestContext, type TestContext } from './harness.ts';

const RETRY = { kind: 'retry', delayMs: 60_000 } as const;
const EXHAUSTED = 'Every attempt of the last 72 hours failed.';
let context: TestContext;
let channelId: string;

beforeAll(async () => {
  context = await openTestContext();
});
afterAll(() => context.close());

beforeEach(async () => {
  await context.db.execute(sql`truncate monitors, channels, status_changes, deliveries cascade`);
  channelId = await makeChannel(context);
});

/** The first delivery of an alert, claimed. */
async function claimAlert(): Promise<ClaimedDelivery> {
  await alertOf(context, (await makeMonitor(context)).id, 'DOWN');
  return claimOne(context);
}

const channel = (): Promise<Channel> => getChannel(context.db, context.accountId, channelId);
const states = async (): Promise<string[]> =>
  (await readDeliveryLog(context.db, channelId)).map(({ state }) => state);

async function failing(hours: number, lastFailedHoursAgo: number): Promise<void> {
  const ago = (value: number): Date => new Date(Date.now() - value * 3_600_000 - 1_000);
  const health = { failingSince: ago(hours), lastFailedAt: ago(lastFailedHoursAgo) };
  await context.db.update(channels).set(health).where(eq(channels.id, channelId));
}

async function moveChannel(): Promise<void> {
  await updateChannel(context.db, context.accountId, channelId, { url: 'https://hooks.example/new' });
}

describe('an attempt at a former URL', () => {
  test('410 does not disable the channel, and the alert goes to the present URL', async () => {
    const old = await claimAlert();
    await moveChannel();
    expect(await recordOutcome(context, old, { kind: 'gone' })).toBeNull();
    expect(await channel()).toMatchObject({ enabled: true, disabledReason: null, failingSince: null });
    await context.db.execute(sql`update deliveries set next_attempt_at = null where id <> ${old.id}`);
    expect(await claimOne(context)).toMatchObject({ id: old.id, url: 'https://hooks.example/new' });
  });

  test('a failure is none of the channel, a success ends no failures of the present URL', async () => {
    const old = await claimAlert();
    await moveChannel();
    await recordOutcome(context, old, RETRY);
    expect(await channel()).toMatchObject({ failingSince: null });
    await recordOutcome(context, await claimOne(context), RETRY);
    const { failingSince } = await channel();
    expect(failingSince).not.toBeNull();
    await recordOutcome(context, old, { kind: 'delivered' });
    expect(await channel()).toMatchObject({ failingSince });
  });
});

test('a failure that comes after its lease was lost, and after the success, leaves the channel healthy', async () => {
  const late = await claimAlert();
  await endLeases(context);
  await recordOutcome(context, await claimOne(context), { kind: 'delivered' });
  for (const outcome of [RETRY, { kind: 'gone' } as const]) {
    expect(await recordOutcome(context, late, outcome)).toBeNull();
  }
  expect(await channel()).toMatchObject({ enabled: true, failingSince: null });
  expect(await states()).toEqual(['delivered', 'pending']);
});

describe('72 h without one success', () => {
  test('disable the channel by the clock, whether or not one more attempt comes', async () => {
    await recordOutcome(context, await claimAlert(), RETRY);
    await failing(71, 9);
    expect(await disableExhaustedChannels(context.db)).toEqual([]);
    await failing(72, 9);
    expect(await disableExhaustedChannels(context.db)).toEqual([channelId]);
    expect(await channel()).toMatchObject({ enabled: false, disabledReason: EXHAUSTED });
    expect(await states()).toEqual(['held', 'held']);
    expect(await disableExhaustedChannels(context.db)).toEqual([]);
  });

  test('in which no notifier made attempts say nothing about the channel', async () => {
    await recordOutcome(context, await claimAlert(), RETRY);
    expect((await channel()).failingSince).not.toBeNull();
    await context.db.execute(sql`
      update channels set failing_since = failing_since - interval '73 hours',
        last_failed_at = last_failed_at - interval '73 hours'`);
    expect(await disableExhaustedChannels(context.db)).toEqual([]);
    expect(await channel()).toMatchObject({ enabled: true });
  });

  test('disable the channel with a failure that comes then, less do not', async () => {
    const delivery = await claimAlert();
    await failing(71, 71);
    expect(await recordOutcome(context, delivery, { kind: 'retry', delayMs: 0 })).toBeNull();
    await context.db.execute(sql`update deliveries set next_attempt_at = null where id <> ${delivery.id}`);
    const again = await claimOne(context);
    await failing(73, 73);
    expect(await recordOutcome(context, again, RETRY)).toBe(EXHAUSTED);
    expect(await states()).toEqual(['held', 'held']);
  });
});
