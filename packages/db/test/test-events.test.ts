import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { webhookPayloadSchema } from '@tocsin/contracts/deliveries/webhook';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { channels } from '@tocsin/db/channels/table';
import { deleteChannel, disableExhaustedChannels, updateChannel } from '@tocsin/db/channels/write-channels';
import { claimDeliveries } from '@tocsin/db/deliveries/claim-deliveries';
import { holdForDisabledChannels } from '@tocsin/db/deliveries/hold-deliveries';
import { getDelivery } from '@tocsin/db/deliveries/read-deliveries';
import {
  createTestDelivery,
  findTestOutcome,
  abandonTestDelivery,
} from '@tocsin/db/deliveries/test-deliveries';
import { eq, sql } from 'drizzle-orm';
import { alertOf, claimOne, makeChannel, recordOutcome } from './delivery-steps.ts';
import { makeMonitor, openTestContext, type TestContext } from './harness.ts';

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

describe('a test event', () => {
  test('has the payload of the specification, with a timestamp from Postgres', async () => {
    const id = await createTestDelivery(context.db, accountId, channelId, 'eu-west-1');
    const { payload, ...delivery } = await getDelivery(context.db, accountId, id);
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

  test('of a disabled channel is attempted once and does not change the channel', async () => {
    await context.db
      .update(channels)
      .set({ enabled: false, disabledReason: 'Gone.', failingSince: new Date(0) });
    await alertOf(context, monitorId, 'DOWN');
    const id = await createTestDelivery(context.db, accountId, channelId, 'default');
    expect(await findTestOutcome(context.db, id)).toBeNull();
    const claimed = await claimOne(context);
    expect(claimed).toMatchObject({ id, test: true });
    expect(await recordOutcome(context, claimed, { kind: 'failed' })).toBeNull();
    expect(await findTestOutcome(context.db, id)).toMatchObject({
      delivered: false,
      attempt: { statusCode: 500, error: 'responded with 500' },
    });
    expect(await claimDeliveries(context, { limit: 10 })).toEqual([]);
    const [channel] = await context.db.select().from(channels).where(eq(channels.id, channelId));
    expect(channel).toMatchObject({ enabled: false, disabledReason: 'Gone.', failingSince: new Date(0) });
  });

  test('does not change failing_since when it is delivered', async () => {
    await context.db.update(channels).set({ failingSince: new Date(0) });
    const id = await createTestDelivery(context.db, accountId, channelId, 'default');
    const [claimed] = await claimDeliveries(context, { deliveryId: id });
    if (!claimed) throw new Error('not claimed');
    await recordOutcome(context, claimed, { kind: 'delivered' });
    expect(await findTestOutcome(context.db, id)).toMatchObject({ delivered: true });
    const [channel] = await context.db.select().from(channels).where(eq(channels.id, channelId));
    expect(channel?.failingSince).toEqual(new Date(0));
  });

  test('neither waits for other deliveries nor delays them, and is not held by disabling', async () => {
    await alertOf(context, monitorId, 'DOWN');
    const id = await createTestDelivery(context.db, accountId, channelId, 'default');
    const claimed = await claimDeliveries(context, { limit: 10 });
    expect(new Set(claimed.map((delivery) => delivery.test))).toEqual(new Set([false, true]));
    expect(claimed).toHaveLength(2);
    await updateChannel(context.db, systemActor(accountId), channelId, { enabled: false });
    expect((await getDelivery(context.db, accountId, id)).state).toBe('pending');
    await context.db
      .update(channels)
      .set({ enabled: true, failingSince: new Date(0), lastFailedAt: new Date() });
    expect(await disableExhaustedChannels(context.db)).toEqual([channelId]);
    await holdForDisabledChannels(context.db);
    expect((await getDelivery(context.db, accountId, id)).state).toBe('pending');
  });

  test('is not sent after it is abandoned, and is deleted with its channel', async () => {
    const id = await createTestDelivery(context.db, accountId, channelId, 'default');
    await abandonTestDelivery(context.db, id);
    expect(await claimDeliveries(context, { limit: 10 })).toEqual([]);
    expect((await getDelivery(context.db, accountId, id)).state).toBe('failed');
    await deleteChannel(context.db, systemActor(accountId), channelId);
    expect(await findTestOutcome(context.db, id)).toBeUndefined();
    const missing = createTestDelivery(context.db, accountId, channelId, 'default');
    await expect(missing).rejects.toMatchObject({ code: 'not_found' });
  });
});
