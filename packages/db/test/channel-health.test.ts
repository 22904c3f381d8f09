import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Channel } from '@tocsin/contracts/channels/channel';
import { listAuditEntries } from '@tocsin/db/audit-log/read-audit-log';
import { forEachChannel } from '@tocsin/db/channels/each-channel';
import { getChannel } from '@tocsin/db/channels/read-channels';
import { channels } from '@tocsin/db/channels/table';
import { updateChannel } from '@tocsin/db/channels/write-channels';
import { claimDeliveries, type ClaimedDelivery } from '@tocsin/db/deliveries/claim-deliveries';
import { holdForDisabledChannels } from '@tocsin/db/deliveries/hold-deliveries';
import { type AttemptOutcome, recordAttempt } from '@tocsin/db/deliveries/record-attempt';
import { eq, sql } from 'drizzle-orm';
import {
  addDeliveries,
  alertOf,
  attemptOf,
  claimOne,
  disableExhausted,
  endLeases,
  makeChannel,
  readDeliveryLog,
  recordOutcome,
} from './delivery-steps.ts';
import { makeMonitor, readClock, useTestContext } from './harness.ts';

const RETRY = { kind: 'retry', delayMs: 60_000 } as const;
const DELIVERED = { kind: 'delivered' } as const;
const GONE = { kind: 'gone' } as const;
const EXHAUSTED = 'Every attempt of the last 72 hours failed.';
const RESPONDED_GONE = 'The receiver responded with 410 Gone.';

const context = await useTestContext();
const { db, accountId, actor } = context;

let channelId: string;
beforeEach(async () => {
  await db.execute(sql`truncate monitors, channels, status_changes, deliveries cascade`);
  channelId = await makeChannel(context);
});

/** Claims the first of the two deliveries of an alert. */
async function claimAlert(): Promise<ClaimedDelivery> {
  await alertOf(context, (await makeMonitor(context)).id, 'DOWN');
  return claimOne(context);
}

const channel = (): Promise<Channel> => getChannel(db, accountId, channelId);
const readLog = () => readDeliveryLog(db, channelId);
const states = async (): Promise<string[]> => (await readLog()).map(({ state }) => state);

async function setChannel(values: Partial<typeof channels.$inferInsert>): Promise<void> {
  await db.update(channels).set(values).where(eq(channels.id, channelId));
}

async function failing(hours: number, lastFailedHoursAgo: number): Promise<void> {
  const ago = (value: number): Date => new Date(Date.now() - value * 3_600_000 - 1_000);
  await setChannel({ failingSince: ago(hours), lastFailedAt: ago(lastFailedHoursAgo) });
}

async function moveChannel(): Promise<void> {
  await updateChannel(context, actor, channelId, { url: 'https://hooks.example/new' });
}

describe('an attempt', () => {
  test('that succeeds completes the delivery and resets the channel’s failures', async () => {
    const delivery = await claimAlert();
    await setChannel({ failingSince: new Date() });
    expect(await recordOutcome(context, delivery, DELIVERED)).toBeNull();
    const [log] = await readLog();
    expect(log).toMatchObject({ state: 'delivered', nextAttemptAt: null, attemptCount: 1, leaseToken: null });
    expect(log?.attempts).toMatchObject([{ number: 1, statusCode: 200, error: null }]);
    expect(await channel()).toMatchObject({ failingSince: null });
  });

  test('is claimed, and repeated after a failure, by Postgres’ clock', async () => {
    const before = await readClock(context);
    const delivery = await claimAlert();
    await recordOutcome(context, delivery, RETRY);
    const after = await readClock(context);
    const [log] = await readLog();
    expect(log).toMatchObject({ id: delivery.id, state: 'pending' });
    // Times are returned and stored in whole milliseconds.
    for (const time of [delivery.claimedAt.getTime(), (log?.nextAttemptAt?.getTime() ?? NaN) - 60_000]) {
      expect(time).toBeGreaterThanOrEqual(before - 1);
      expect(time).toBeLessThanOrEqual(after + 1);
    }
  });

  test('after a lost lease only enters the log if it fails, and counts if it succeeds', async () => {
    const first = await claimAlert();
    await endLeases(context);
    const second = await claimOne(context);
    await recordOutcome(context, first, { kind: 'retry', delayMs: 3_600_000 });
    const [failed] = await readLog();
    expect(failed).toMatchObject({ leaseToken: second.leaseToken, state: 'pending', attemptCount: 1 });
    expect(await channel()).toMatchObject({ failingSince: null });
    await recordOutcome(context, first, DELIVERED);
    for (const outcome of [RETRY, GONE]) expect(await recordOutcome(context, second, outcome)).toBeNull();
    const [delivered] = await readLog();
    expect(delivered).toMatchObject({ state: 'delivered', attemptCount: 4 });
    expect(await channel()).toMatchObject({ enabled: true, failingSince: null });
  });

  test.each<[string, AttemptOutcome]>([
    ['a success', DELIVERED],
    ['a failure', RETRY],
    ['the end of a channel', GONE],
  ])(
    '%s is recorded once, even if it is repeated after a lost response to its commit',
    async (_, outcome) => {
      const attempt = attemptOf(await claimAlert(), outcome);
      await Promise.all([recordAttempt(db, attempt), recordAttempt(db, attempt)]);
      const [before] = await readLog();
      await setChannel({ enabled: true, disabledReason: null, failingSince: null });
      await recordAttempt(db, attempt);
      const [log] = await readLog();
      expect(log).toMatchObject({ attempts: [{ number: 1 }], attemptCount: 1, roundAttemptCount: 1 });
      expect(log).toEqual(before);
      expect(await channel()).toMatchObject({ enabled: true, failingSince: null });
    },
  );

  test('with a 410 disables the channel and holds its deliveries', async () => {
    const delivery = await claimAlert();
    expect(await recordOutcome(context, delivery, GONE, 410)).toBe(RESPONDED_GONE);
    expect(await states()).toEqual(['failed', 'held']);
    await alertOf(context, delivery.monitorId, 'UP');
    expect(await states()).toEqual(['failed', 'held', 'held', 'held']);
  });
});

describe('an attempt at a former URL', () => {
  test('with a 410 does not disable the channel, and the alert is sent to the current URL', async () => {
    const old = await claimAlert();
    await moveChannel();
    expect(await recordOutcome(context, old, GONE)).toBeNull();
    expect(await channel()).toMatchObject({ enabled: true, disabledReason: null, failingSince: null });
    await db.execute(sql`update deliveries set next_attempt_at = null where id <> ${old.id}`);
    expect(await claimOne(context)).toMatchObject({ id: old.id, url: 'https://hooks.example/new' });
  });

  test('does not change the health of the channel', async () => {
    const old = await claimAlert();
    await moveChannel();
    await recordOutcome(context, old, RETRY);
    expect(await channel()).toMatchObject({ failingSince: null });
    await recordOutcome(context, await claimOne(context), RETRY);
    const { failingSince } = await channel();
    expect(failingSince).not.toBeNull();
    await recordOutcome(context, old, DELIVERED);
    expect(await channel()).toMatchObject({ failingSince });
  });
});

test('each time that the service disables a channel is in the audit log', async () => {
  const claimed = await claimAlert();
  await failing(73, 1);
  await disableExhausted(context);
  await updateChannel(context, actor, channelId, { enabled: true });
  await recordOutcome(context, await claimAlert(), GONE);
  await recordOutcome(context, claimed, GONE);
  const query = { limit: 10, targetId: channelId, action: 'channel.disabled' } as const;
  const entries = await listAuditEntries(db, accountId, query);
  const change = { field: 'enabled', from: true, to: false };
  expect(entries.map(({ actor: by, changes }) => [by.type, changes])).toEqual(
    [EXHAUSTED, RESPONDED_GONE].map((to) => [
      'system',
      [change, { field: 'disabledReason', from: null, to }],
    ]),
  );
});

describe('72 h without one success', () => {
  test('disable the channel even without another attempt', async () => {
    await recordOutcome(context, await claimAlert(), RETRY);
    await failing(71, 9);
    expect(await disableExhausted(context)).toEqual([]);
    await failing(72, 9);
    expect(await disableExhausted(context)).toEqual([channelId]);
    expect(await channel()).toMatchObject({ enabled: false, disabledReason: EXHAUSTED });
    await holdForDisabledChannels(db);
    expect(await states()).toEqual(['held', 'held']);
    expect(await disableExhausted(context)).toEqual([]);
  });

  test('do not disable the channel if no notifier made attempts', async () => {
    await recordOutcome(context, await claimAlert(), RETRY);
    expect((await channel()).failingSince).not.toBeNull();
    await db.execute(sql`
      update channels set failing_since = failing_since - interval '73 hours',
        last_failed_at = last_failed_at - interval '73 hours'`);
    expect(await disableExhausted(context)).toEqual([]);
    expect(await channel()).toMatchObject({ enabled: true });
  });

  test('disable the channel on the next failure, but not before 72 hours have passed', async () => {
    const delivery = await claimAlert();
    await failing(71, 71);
    expect(await recordOutcome(context, delivery, { kind: 'retry', delayMs: 0 })).toBeNull();
    await db.execute(sql`update deliveries set next_attempt_at = null where id <> ${delivery.id}`);
    const again = await claimOne(context);
    await failing(73, 73);
    expect(await recordOutcome(context, again, RETRY)).toBe(EXHAUSTED);
    expect(await states()).toEqual(['held', 'held']);
  });
});

describe('a sweep of the channels', () => {
  test('disables the others if one cannot be disabled', async () => {
    const other = await makeChannel(context, []);
    await db.execute(sql`
      create or replace function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$`);
    for (const refused of [channelId, other]) {
      const enabled = { enabled: true, failingSince: new Date(0), lastFailedAt: new Date() };
      await db.update(channels).set(enabled);
      const onRefused = `create trigger refuse before update on channels for each row when (old.id = '${refused}')`;
      await db.execute(sql.raw(`${onRefused} execute function refuse()`));
      try {
        await expect(disableExhausted(context)).rejects.toThrow('rejected changes to a channel');
      } finally {
        await db.execute(sql`drop trigger refuse on channels`);
      }
      expect(await db.$count(channels, eq(channels.enabled, true))).toBe(1);
    }
  });

  test('visits each of them once, a few hundred at a time', async () => {
    await db.execute(sql`
      insert into channels (id, account_id, name, url, sealed_secret)
      select gen_random_uuid(), account_id, name, url, sealed_secret from channels, generate_series(1, 1_199)`);
    const visited: string[] = [];
    await forEachChannel(db, sql`enabled`, async (id) => void visited.push(id));
    expect([visited.length, new Set(visited).size]).toEqual([1_200, 1_200]);
  });
});

describe('a channel with a long backlog', () => {
  const LONG = 2_500;
  beforeEach(async () => {
    await addDeliveries(context, channelId, LONG);
    // No statement may update more than a thousand deliveries.
    await db.execute(sql`
      create or replace function refuse_many() returns trigger language plpgsql as $$ begin
        if (select count(*) from changed) > 1000 then raise exception 'too many rows at once'; end if;
        return null;
      end $$`);
    await db.execute(sql`
      create trigger few after update on deliveries referencing new table as changed
      for each statement execute function refuse_many()`);
  });
  afterEach(() => db.execute(sql`drop trigger few on deliveries`));

  async function countStates(): Promise<Record<string, number>> {
    const { rows } = await db.execute<{ state: string; count: number }>(
      sql`select state, count(*)::int as count from deliveries group by state`,
    );
    return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
  }

  const setEnabled = (enabled: boolean, signal?: AbortSignal): Promise<Channel> =>
    updateChannel(context, actor, channelId, { enabled }, signal && { holding: signal });

  test('is disabled at once, and enabled only after the whole backlog is held', async () => {
    expect(await setEnabled(false)).toMatchObject({ enabled: false });
    expect(await claimDeliveries(context, { limit: 10 })).toEqual([]);
    expect(await setEnabled(true)).toMatchObject({ enabled: true });
    expect(await countStates()).toEqual({ held: LONG });
    expect(await claimDeliveries(context, { limit: 10 })).toEqual([]);
  });

  test('keeps the progress of a request that could not hold all of it in time', async () => {
    await setEnabled(false);
    await expect(setEnabled(true, AbortSignal.abort())).rejects.toMatchObject({ code: 'unavailable' });
    expect(await countStates()).toEqual({ held: 2_000, pending: LONG - 2_000 });
    expect(await channel()).toMatchObject({ enabled: false });
    expect(await setEnabled(true)).toMatchObject({ enabled: true });
    expect(await countStates()).toEqual({ held: LONG });
  });

  test('is disabled after 72 h without a success, and by a 410', async () => {
    await failing(72, 9);
    expect(await disableExhausted(context)).toEqual([channelId]);
    await setChannel({ enabled: true, failingSince: null });
    const [claimed] = await claimDeliveries(context, { limit: 1 });
    if (!claimed) throw new Error('nothing was claimed');
    expect(await recordOutcome(context, claimed, GONE)).toBe(RESPONDED_GONE);
    await holdForDisabledChannels(db);
    expect(await countStates()).toEqual({ failed: 1, held: LONG - 1 });
  });
});
