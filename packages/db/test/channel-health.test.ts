import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Channel } from '@tocsin/contracts/channels/channel';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { listAuditEntries } from '@tocsin/db/audit-log/read-audit-log';
import { getChannel } from '@tocsin/db/channels/read-channels';
import { channels } from '@tocsin/db/channels/table';
import { disableExhaustedChannels, updateChannel } from '@tocsin/db/channels/write-channels';
import { claimDeliveries, type ClaimedDelivery } from '@tocsin/db/deliveries/claim-deliveries';
import { holdForDisabledChannels } from '@tocsin/db/deliveries/hold-deliveries';
import { eq, sql } from 'drizzle-orm';
import { readDeliveryLog } from './delivery-log.ts';
import { alertOf, claimOne, endLeases, makeChannel, recordOutcome, redeliverAll } from './delivery-steps.ts';
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
  await updateChannel(context.db, systemActor(context.accountId), channelId, {
    url: 'https://hooks.example/new',
  });
}

describe('an attempt at a former URL', () => {
  test('a 410 does not disable the channel, and the alert is sent to the current URL', async () => {
    const old = await claimAlert();
    await moveChannel();
    expect(await recordOutcome(context, old, { kind: 'gone' })).toBeNull();
    expect(await channel()).toMatchObject({ enabled: true, disabledReason: null, failingSince: null });
    await context.db.execute(sql`update deliveries set next_attempt_at = null where id <> ${old.id}`);
    expect(await claimOne(context)).toMatchObject({ id: old.id, url: 'https://hooks.example/new' });
  });

  test('neither its failure nor its success changes the health of the channel', async () => {
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

test('each time that the service disables a channel is in the audit log', async () => {
  const { db, accountId } = context;
  const claimed = await claimAlert();
  await failing(73, 1);
  await disableExhaustedChannels(db);
  await updateChannel(db, systemActor(accountId), channelId, { enabled: true });
  await recordOutcome(context, await claimAlert(), { kind: 'gone' });
  await recordOutcome(context, claimed, { kind: 'gone' });
  const query = { limit: 10, targetId: channelId, action: 'channel.disabled' } as const;
  const entries = await listAuditEntries(db, accountId, query);
  const change = { field: 'enabled', from: true, to: false };
  const reasons = [EXHAUSTED, 'The receiver responded with 410 Gone.'];
  expect(entries.map(({ actor, changes }) => [actor.type, changes])).toEqual(
    reasons.map((to) => ['system', [change, { field: 'disabledReason', from: null, to }]]),
  );
});

test('a failure that is recorded after its lease was lost and after a success leaves the channel healthy', async () => {
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
  test('disables the channel even without another attempt', async () => {
    await recordOutcome(context, await claimAlert(), RETRY);
    await failing(71, 9);
    expect(await disableExhaustedChannels(context.db)).toEqual([]);
    await failing(72, 9);
    expect(await disableExhaustedChannels(context.db)).toEqual([channelId]);
    expect(await channel()).toMatchObject({ enabled: false, disabledReason: EXHAUSTED });
    await holdForDisabledChannels(context.db);
    expect(await states()).toEqual(['held', 'held']);
    expect(await disableExhaustedChannels(context.db)).toEqual([]);
  });

  test('does not disable the channel if no notifier made attempts', async () => {
    await recordOutcome(context, await claimAlert(), RETRY);
    expect((await channel()).failingSince).not.toBeNull();
    await context.db.execute(sql`
      update channels set failing_since = failing_since - interval '73 hours',
        last_failed_at = last_failed_at - interval '73 hours'`);
    expect(await disableExhaustedChannels(context.db)).toEqual([]);
    expect(await channel()).toMatchObject({ enabled: true });
  });

  test('disables the channel on the next failure, but not before 72 hours have passed', async () => {
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

describe('a channel with a long backlog', () => {
  const LONG = 2_500;
  beforeEach(async () => {
    await context.db.execute(sql`
      insert into deliveries (id, account_id, channel_id, status_change_id, monitor_id, event, timestamp, payload, state)
      select gen_random_uuid(), ${context.accountId}, ${channelId}, gen_random_uuid(), gen_random_uuid(), 'monitor.down',
        now() + i * interval '1 s', i, 'pending'
      from generate_series(1, ${LONG}::int) i`);
    await refuseLargeUpdates();
  });
  afterEach(() => context.db.execute(sql`drop trigger few on deliveries`));

  /** No statement may update more than a thousand deliveries. */
  async function refuseLargeUpdates(): Promise<void> {
    await context.db.execute(sql`
      create or replace function refuse_many() returns trigger language plpgsql as $$ begin
        if (select count(*) from changed) > 1000 then raise exception 'too many rows at once'; end if;
        return null;
      end $$`);
    await context.db.execute(sql`
      create trigger few after update on deliveries referencing new table as changed
      for each statement execute function refuse_many()`);
  }

  async function countStates(): Promise<Record<string, number>> {
    const { rows } = await context.db.execute<{ state: string; count: number }>(
      sql`select state, count(*)::int as count from deliveries group by state`,
    );
    return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
  }

  const setEnabled = (enabled: boolean): Promise<Channel> =>
    updateChannel(context.db, systemActor(context.accountId), channelId, { enabled });

  test('is disabled at once, and enabled only after the whole backlog is held', async () => {
    expect(await setEnabled(false)).toMatchObject({ enabled: false });
    expect(await claimDeliveries(context, { limit: 10 })).toEqual([]);
    expect(await setEnabled(true)).toMatchObject({ enabled: true });
    expect(await countStates()).toEqual({ held: LONG });
    expect(await claimDeliveries(context, { limit: 10 })).toEqual([]);
  });

  test('keeps the progress of a request that could not hold all of it in time', async () => {
    await setEnabled(false);
    const tooLate = AbortSignal.abort();
    const enabling = updateChannel(
      context.db,
      systemActor(context.accountId),
      channelId,
      { enabled: true },
      tooLate,
    );
    await expect(enabling).rejects.toMatchObject({ code: 'unavailable' });
    expect(await countStates()).toEqual({ held: 2_000, pending: LONG - 2_000 });
    expect(await channel()).toMatchObject({ enabled: false });
    expect(await setEnabled(true)).toMatchObject({ enabled: true });
    expect(await countStates()).toEqual({ held: LONG });
  });

  test('is held even if holding the deliveries of another channel fails', async () => {
    const other = await makeChannel(context, []);
    const ids = [channelId, other];
    await context.db.execute(sql`update channels set enabled = false`);
    await context.db.execute(sql`
      update deliveries set channel_id = ${other} where id in (select id from deliveries limit 10)`);
    // Whichever channel comes first, one of the two rounds has it after the one that fails.
    for (const failing of ids) {
      await context.db.execute(sql`update deliveries set state = 'pending', next_attempt_at = now()
        where id = any(array(select id from deliveries where state = 'held' limit 1000))`);
      await context.db.execute(sql`
        create or replace function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$`);
      await context.db.execute(
        sql.raw(`
        create trigger refuse before update on deliveries for each row when (old.channel_id = '${failing}')
        execute function refuse()`),
      );
      try {
        await expect(holdForDisabledChannels(context.db)).rejects.toThrow('could not be held: 1');
      } finally {
        await context.db.execute(sql`drop trigger refuse on deliveries`);
      }
      const { rows } = await context.db.execute(sql`
        select from deliveries where state = 'pending' and channel_id <> ${failing}`);
      expect(rows).toHaveLength(0);
    }
  });

  test('is disabled after 72 h without a success, and by a 410', async () => {
    await failing(72, 9);
    expect(await disableExhaustedChannels(context.db)).toEqual([channelId]);
    await context.db.update(channels).set({ enabled: true, failingSince: null });
    const [claimed] = await claimDeliveries(context, { limit: 1 });
    if (!claimed) throw new Error('nothing was claimed');
    expect(await recordOutcome(context, claimed, { kind: 'gone' })).toBe(
      'The receiver responded with 410 Gone.',
    );
    await holdForDisabledChannels(context.db);
    expect(await countStates()).toEqual({ failed: 1, held: LONG - 1 });
  });

  test('is redelivered completely, oldest event first', async () => {
    const ids = await redeliverAll(context, channelId);
    expect(ids).toEqual((await readDeliveryLog(context.db, channelId)).map(({ id }) => id));
  });
});
