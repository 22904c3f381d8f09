import { beforeEach, describe, expect, test } from '@jest/globals';
import { channelSchema } from '@tocsin/contracts/channels/channel';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { revealChannelSecret, rotateChannelSecret } from '@tocsin/db/channels/channel-secrets';
import { getChannel, listChannels } from '@tocsin/db/channels/read-channels';
import { channels } from '@tocsin/db/channels/table';
import { createChannel, deleteChannel, updateChannel } from '@tocsin/db/channels/write-channels';
import { claimDeliveries } from '@tocsin/db/deliveries/claim-deliveries';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { dispatchStatusChanges } from '@tocsin/db/status-changes/dispatch-status-changes';
import { eq, sql } from 'drizzle-orm';
import {
  alertOf,
  changeStatus,
  claimOne,
  makeAccount,
  makeChannel,
  readDeliveryLog,
  recordOutcome,
} from './delivery-steps.ts';
import { makeMonitor, useTestContext } from './harness.ts';

const context = await useTestContext();
const { db, accountId, actor } = context;

let monitorId: string;
let channelId: string;

beforeEach(async () => {
  await db.execute(sql`truncate monitors, channels, status_changes, deliveries cascade`);
  monitorId = (await makeMonitor(context)).id;
  channelId = await makeChannel(context);
});

async function states(): Promise<string[]> {
  return (await readDeliveryLog(db, channelId)).map((delivery) => delivery.state);
}

describe('a channel record', () => {
  test('equals the input, and lists are ordered newest first', async () => {
    const other = (await makeMonitor(context)).id;
    const id = await makeChannel(context, [other, monitorId]);
    const listed = await listChannels(db, accountId);
    expect(listed.map((channel) => channel.id)).toEqual([id, channelId]);
    expect(channelSchema.parse(listed[0])).toMatchObject({
      name: 'ops',
      url: 'https://hooks.example/a',
      monitorIds: [monitorId, other],
      allMonitors: false,
      enabled: true,
      disabledReason: null,
      failingSince: null,
      formatError: null,
    });
    expect(JSON.stringify(listed)).not.toMatch(/whsec|sealed|v1\./);
  });

  test('is not found by another account', async () => {
    const other = await makeAccount(context);
    const missing = { code: 'not_found' };
    expect(await listChannels(db, other)).toEqual([]);
    for (const request of [
      getChannel(db, other, channelId),
      updateChannel(context, systemActor(other), channelId, { name: 'x' }),
      deleteChannel(db, systemActor(other), channelId),
      revealChannelSecret(context, systemActor(other), channelId),
      rotateChannelSecret(context, systemActor(other), channelId),
    ])
      await expect(request).rejects.toMatchObject(missing);
    expect(await getChannel(db, accountId, channelId)).toMatchObject({ name: 'ops' });
  });
});

describe('monitors of a channel', () => {
  test('are refused with their index if they belong to another account, and nothing is written', async () => {
    const stranger = await makeAccount(context);
    const unknown = '019a9f0e-5d2e-7c11-8f5a-1c1f4d1b2a3c';
    const fault = { code: 'validation_failed', errors: [expect.objectContaining({ path: 'monitorIds.1' })] };
    const input = { name: 'x', url: 'https://hooks.example', monitorIds: [monitorId, unknown] };
    await expect(createChannel(context, actor, input)).rejects.toMatchObject(fault);
    const ofOther = { ...input, monitorIds: [monitorId] };
    await expect(createChannel(context, systemActor(stranger), ofOther)).rejects.toMatchObject({
      code: 'validation_failed',
    });
    expect(await listChannels(db, stranger)).toEqual([]);
    const update = { name: 'y', monitorIds: [monitorId, unknown] };
    await expect(updateChannel(context, actor, channelId, update)).rejects.toMatchObject(fault);
    expect(await getChannel(db, accountId, channelId)).toMatchObject({ name: 'ops', monitorIds: [] });
  });

  test('can be deleted while they are being assigned, without a deadlock', async () => {
    for (let round = 0; round < 5; round += 1) {
      const [one, two] = [(await makeMonitor(context)).id, (await makeMonitor(context)).id];
      const id = await makeChannel(context, [one, two]);
      const results = await Promise.allSettled([
        updateChannel(context, actor, id, { monitorIds: [two] }),
        deleteMonitor(db, actor, one),
        updateChannel(context, actor, id, { monitorIds: [two, one] }),
      ]);
      const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
      for (const failure of failures) expect(failure).toMatchObject({ code: 'validation_failed' });
      expect((await getChannel(db, accountId, id)).monitorIds).toEqual([two]);
    }
  });
});

describe('disabling and enabling', () => {
  test('disabling by a user holds pending deliveries and sets no reason', async () => {
    await alertOf(context, monitorId, 'DOWN');
    const before = await getChannel(db, accountId, channelId);
    const disabled = await updateChannel(context, actor, channelId, { enabled: false });
    expect(disabled).toMatchObject({ enabled: false, disabledReason: null });
    expect(disabled.updatedAt > before.updatedAt).toBe(true);
    expect(await states()).toEqual(['held', 'held']);
    expect(await claimDeliveries(context, { limit: 10 })).toEqual([]);
  });

  test('a running attempt counts if it succeeds, and otherwise only enters the log', async () => {
    await alertOf(context, monitorId, 'DOWN');
    const first = await claimOne(context);
    await updateChannel(context, actor, channelId, { enabled: false });
    await recordOutcome(context, first, { kind: 'retry', delayMs: 1_000 });
    expect(await readDeliveryLog(db, channelId)).toMatchObject([
      { state: 'held', nextAttemptAt: null, attemptCount: 1, roundAttemptCount: 0 },
      { state: 'held', attemptCount: 0 },
    ]);
    await recordOutcome(context, first, { kind: 'delivered' });
    expect(await states()).toEqual(['delivered', 'held']);
  });

  test('enabling the channel or changing its URL resets its failures, but other changes do not', async () => {
    const failing = { failingSince: new Date(), enabled: false, disabledReason: 'Every attempt failed.' };
    const fail = async (): Promise<void> => {
      await db.update(channels).set(failing).where(eq(channels.id, channelId));
    };
    await fail();
    const enabled = await updateChannel(context, actor, channelId, { enabled: true });
    expect(enabled).toMatchObject({ enabled: true, disabledReason: null, failingSince: null });
    await fail();
    const renamed = await updateChannel(context, actor, channelId, { name: 'new' });
    expect(renamed).toMatchObject({ name: 'new', enabled: false, failingSince: expect.any(String) });
    expect(renamed.disabledReason).toBe('Every attempt failed.');
    const moved = await updateChannel(context, actor, channelId, { url: 'https://hooks.example/b' });
    expect(moved).toMatchObject({ url: 'https://hooks.example/b', failingSince: null, enabled: false });
  });

  test('disabling during a dispatch leaves no delivery pending', async () => {
    for (let round = 0; round < 8; round += 1) {
      await updateChannel(context, actor, channelId, { enabled: true });
      await changeStatus(context, monitorId, round % 2 === 0 ? 'DOWN' : 'UP');
      await Promise.all([
        dispatchStatusChanges(db, { limit: 10 }),
        updateChannel(context, actor, channelId, { enabled: false }),
      ]);
      await dispatchStatusChanges(db, { limit: 10 });
    }
    const all = await states();
    expect(all).toHaveLength(16);
    expect(new Set(all)).toEqual(new Set(['held']));
  });
});

describe('rotation', () => {
  async function secretsOfNextClaim(): Promise<readonly string[]> {
    await db.execute(sql`update deliveries set leased_until = null`);
    return (await claimOne(context)).secrets;
  }

  test('keeps the previous secret valid for 24 hours, until the next rotation', async () => {
    await alertOf(context, monitorId, 'DOWN');
    const first = await revealChannelSecret(context, actor, channelId);
    const second = await rotateChannelSecret(context, actor, channelId);
    expect(second.secret).toMatch(/^whsec_[A-Za-z0-9+/]{32}$/);
    expect(second.previousSecretExpiresAt.getTime() - Date.now()).toBeGreaterThan(23.9 * 3_600_000);
    expect(await secretsOfNextClaim()).toEqual([second.secret, first]);
    const third = await rotateChannelSecret(context, actor, channelId);
    expect(await secretsOfNextClaim()).toEqual([third.secret, second.secret]);
    expect(await revealChannelSecret(context, actor, channelId)).toBe(third.secret);
    await db.execute(sql`update channels set previous_secret_expires_at = now() - interval '1 second'`);
    expect(await secretsOfNextClaim()).toEqual([third.secret]);
  });

  test('two concurrent rotations leave both new secrets valid', async () => {
    await alertOf(context, monitorId, 'DOWN');
    const [one, other] = await Promise.all([
      rotateChannelSecret(context, actor, channelId),
      rotateChannelSecret(context, actor, channelId),
    ]);
    expect(new Set(await secretsOfNextClaim())).toEqual(new Set([one.secret, other.secret]));
  });
});
