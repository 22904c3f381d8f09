import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { channelSchema } from '@tocsin/contracts/channels/channel';
import { revealChannelSecret, rotateChannelSecret } from '@tocsin/db/channels/channel-secrets';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { findChannelRow, getChannel, listChannels } from '@tocsin/db/channels/read-channels';
import { channels } from '@tocsin/db/channels/table';
import { createChannel, deleteChannel, updateChannel } from '@tocsin/db/channels/write-channels';
import { claimDeliveries } from '@tocsin/db/deliveries/claim-deliveries';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { dispatchStatusChanges } from '@tocsin/db/status-changes/dispatch-status-changes';
import { eq, sql } from 'drizzle-orm';
import { readDeliveryLog } from './delivery-log.ts';
import {
  alertOf,
  changeStatus,
  claimOne,
  makeAccount,
  makeChannel,
  recordOutcome,
} from './delivery-steps.ts';
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

async function states(): Promise<string[]> {
  return (await readDeliveryLog(context.db, channelId)).map((delivery) => delivery.state);
}

describe('a channel record', () => {
  test('equals the input, and lists are ordered newest first', async () => {
    const other = (await makeMonitor(context)).id;
    const id = await makeChannel(context, [other, monitorId]);
    const listed = await listChannels(context.db, accountId);
    expect(listed.map((channel) => channel.id)).toEqual([id, channelId]);
    expect(channelSchema.parse(listed[0])).toMatchObject({
      name: 'ops',
      url: 'https://hooks.example/a',
      monitorIds: [monitorId, other],
      allMonitors: false,
      enabled: true,
      disabledReason: null,
      failingSince: null,
    });
    expect(JSON.stringify(listed)).not.toMatch(/whsec|sealed|v1\./);
  });

  test('is not found by another account', async () => {
    const other = await makeAccount(context);
    const missing = { code: 'not_found' };
    expect(await listChannels(context.db, other)).toEqual([]);
    await expect(getChannel(context.db, other, channelId)).rejects.toMatchObject(missing);
    await expect(
      updateChannel(context.db, systemActor(other), channelId, { name: 'x' }),
    ).rejects.toMatchObject(missing);
    await expect(deleteChannel(context.db, systemActor(other), channelId)).rejects.toMatchObject(missing);
    await expect(revealChannelSecret(context, systemActor(other), channelId)).rejects.toMatchObject(missing);
    await expect(rotateChannelSecret(context, systemActor(other), channelId)).rejects.toMatchObject(missing);
    expect(await getChannel(context.db, accountId, channelId)).toMatchObject({ name: 'ops' });
  });
});

describe('monitors of a channel', () => {
  test('are replaced as a list', async () => {
    const other = (await makeMonitor(context)).id;
    const id = await makeChannel(context, [monitorId]);
    const changed = await updateChannel(context.db, systemActor(accountId), id, { monitorIds: [other] });
    expect(changed.monitorIds).toEqual([other]);
    expect(await updateChannel(context.db, systemActor(accountId), id, { monitorIds: [] })).toMatchObject({
      monitorIds: [],
    });
  });

  test('are refused with their index if they belong to another account, and nothing is written', async () => {
    const stranger = await makeAccount(context);
    const unknown = '019a9f0e-5d2e-7c11-8f5a-1c1f4d1b2a3c';
    const fault = { code: 'validation_failed', errors: [expect.objectContaining({ path: 'monitorIds.1' })] };
    const input = { name: 'x', url: 'https://hooks.example', monitorIds: [monitorId, unknown] };
    await expect(createChannel(context, systemActor(accountId), input)).rejects.toMatchObject(fault);
    const ofOther = { ...input, monitorIds: [monitorId] };
    await expect(createChannel(context, systemActor(stranger), ofOther)).rejects.toMatchObject({
      code: 'validation_failed',
    });
    expect(await listChannels(context.db, stranger)).toEqual([]);
    const update = { name: 'y', monitorIds: [monitorId, unknown] };
    await expect(updateChannel(context.db, systemActor(accountId), channelId, update)).rejects.toMatchObject(
      fault,
    );
    expect(await getChannel(context.db, accountId, channelId)).toMatchObject({ name: 'ops', monitorIds: [] });
  });

  test('can be deleted while they are being assigned, without a deadlock', async () => {
    for (let round = 0; round < 10; round += 1) {
      const [one, two] = [(await makeMonitor(context)).id, (await makeMonitor(context)).id];
      const id = await makeChannel(context, [one, two]);
      const results = await Promise.allSettled([
        updateChannel(context.db, systemActor(accountId), id, { monitorIds: [two] }),
        deleteMonitor(context.db, systemActor(accountId), one),
        updateChannel(context.db, systemActor(accountId), id, { monitorIds: [two, one] }),
      ]);
      const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
      for (const failure of failures) expect(failure).toMatchObject({ code: 'validation_failed' });
      expect((await getChannel(context.db, accountId, id)).monitorIds).toEqual([two]);
    }
  });
});

describe('disabling and enabling', () => {
  test('disabling by a user holds pending deliveries and sets no reason', async () => {
    await alertOf(context, monitorId, 'DOWN');
    const before = await getChannel(context.db, accountId, channelId);
    const disabled = await updateChannel(context.db, systemActor(accountId), channelId, { enabled: false });
    expect(disabled).toMatchObject({ enabled: false, disabledReason: null });
    expect(disabled.updatedAt > before.updatedAt).toBe(true);
    expect(await states()).toEqual(['held', 'held']);
    expect(await claimDeliveries(context, { limit: 10 })).toEqual([]);
  });

  test('a running attempt counts if it succeeds, and otherwise only enters the log', async () => {
    await alertOf(context, monitorId, 'DOWN');
    const first = await claimOne(context);
    await updateChannel(context.db, systemActor(accountId), channelId, { enabled: false });
    await recordOutcome(context, first, { kind: 'retry', delayMs: 1_000 });
    expect(await readDeliveryLog(context.db, channelId)).toMatchObject([
      { state: 'held', nextAttemptAt: null, attemptCount: 1, roundAttemptCount: 0 },
      { state: 'held', attemptCount: 0 },
    ]);
    await recordOutcome(context, first, { kind: 'delivered' });
    expect(await states()).toEqual(['delivered', 'held']);
  });

  test('enabling the channel or changing its URL resets its failures; other changes do not', async () => {
    const failing = { failingSince: new Date(), enabled: false, disabledReason: 'Every attempt failed.' };
    const fail = async (): Promise<void> => {
      await context.db.update(channels).set(failing).where(eq(channels.id, channelId));
    };
    await fail();
    const enabled = await updateChannel(context.db, systemActor(accountId), channelId, { enabled: true });
    expect(enabled).toMatchObject({ enabled: true, disabledReason: null, failingSince: null });
    await fail();
    const renamed = await updateChannel(context.db, systemActor(accountId), channelId, { name: 'new' });
    expect(renamed).toMatchObject({ name: 'new', enabled: false, failingSince: expect.any(String) });
    expect(renamed.disabledReason).toBe('Every attempt failed.');
    const moved = await updateChannel(context.db, systemActor(accountId), channelId, {
      url: 'https://hooks.example/b',
    });
    expect(moved).toMatchObject({ url: 'https://hooks.example/b', failingSince: null, enabled: false });
  });

  test('disabling during a dispatch leaves no delivery pending', async () => {
    for (let round = 0; round < 15; round += 1) {
      await updateChannel(context.db, systemActor(accountId), channelId, { enabled: true });
      await changeStatus(context, monitorId, round % 2 === 0 ? 'DOWN' : 'UP');
      await Promise.all([
        dispatchStatusChanges(context.db, { limit: 10 }),
        updateChannel(context.db, systemActor(accountId), channelId, { enabled: false }),
      ]);
    }
    const all = await states();
    expect(all).toHaveLength(30);
    expect(new Set(all)).toEqual(new Set(['held']));
  });
});

describe('rotation', () => {
  async function secretsOfNextClaim(): Promise<readonly string[]> {
    await context.db.execute(sql`update deliveries set leased_until = null`);
    return (await claimOne(context)).secrets;
  }

  test('keeps the previous secret valid for 24 hours, until the next rotation', async () => {
    await alertOf(context, monitorId, 'DOWN');
    const first = await revealChannelSecret(context, systemActor(accountId), channelId);
    const second = await rotateChannelSecret(context, systemActor(accountId), channelId);
    expect(second.secret).toMatch(/^whsec_[A-Za-z0-9+/]{32}$/);
    expect(second.previousSecretExpiresAt.getTime() - Date.now()).toBeGreaterThan(23.9 * 3_600_000);
    expect(await secretsOfNextClaim()).toEqual([second.secret, first]);
    const third = await rotateChannelSecret(context, systemActor(accountId), channelId);
    expect(await secretsOfNextClaim()).toEqual([third.secret, second.secret]);
    expect(await revealChannelSecret(context, systemActor(accountId), channelId)).toBe(third.secret);
    await context.db.execute(
      sql`update channels set previous_secret_expires_at = now() - interval '1 second'`,
    );
    expect(await secretsOfNextClaim()).toEqual([third.secret]);
  });

  test('two concurrent rotations leave both new secrets valid', async () => {
    await alertOf(context, monitorId, 'DOWN');
    const [one, other] = await Promise.all([
      rotateChannelSecret(context, systemActor(accountId), channelId),
      rotateChannelSecret(context, systemActor(accountId), channelId),
    ]);
    expect(new Set(await secretsOfNextClaim())).toEqual(new Set([one.secret, other.secret]));
  });

  test('stores both secrets encrypted', async () => {
    const { secret } = await rotateChannelSecret(context, systemActor(accountId), channelId);
    const row = JSON.stringify(await findChannelRow(context.db, accountId, channelId));
    expect(row).not.toContain(secret.slice(6));
    expect(row).not.toContain('whsec');
  });
});
