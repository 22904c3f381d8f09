import { beforeEach, describe, expect, test } from '@jest/globals';
import { acknowledgeIncident } from '@tocsin/db/incidents/write-incidents';
import { createChannel, updateChannel } from '@tocsin/db/channels/write-channels';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { claimDeliveries } from '@tocsin/db/deliveries/claim-deliveries';
import { redeliver } from '@tocsin/db/deliveries/redeliver';
import { remind } from '@tocsin/db/deliveries/remind';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { dispatchStatusChanges } from '@tocsin/db/status-changes/dispatch-status-changes';
import { sql } from 'drizzle-orm';
import { changeStatus, makeAccount, readDeliveryLog } from './delivery-steps.ts';
import { editMonitor, failureOf, makeMonitor, refuseRows, useTestContext } from './harness.ts';
import { begin, makeWindow } from './maintenance-harness.ts';

const context = await useTestContext();
const { db, actor } = context;

const PERIOD_SECONDS = 300;
const refused: string[] = [];
let monitorId: string;
let channelId: string;
let downAt: number;

/** Makes the reminders that are due this many seconds after the monitor went DOWN. @returns how many there are more */
async function remindAt(seconds: number, maxTransactions = Infinity): Promise<number> {
  const before = await countReminders();
  const onRefused = ({ id }: { id: string }): void => void refused.push(id);
  const stopping = new AbortController();
  let transactions = 0;
  const onDue = (): void => {
    transactions += 1;
    if (transactions >= maxTransactions) stopping.abort();
  };
  const now = new Date(downAt + seconds * 1_000);
  await remind(db, { publicUrl: null, onRefused, onDue, signal: stopping.signal, now });
  return (await countReminders()) - before;
}

async function countReminders(): Promise<number> {
  const { rows } = await db.execute(sql`select from deliveries where reminder`);
  return rows.length;
}

/** Delivers the pending reminders this many seconds after the monitor went DOWN. */
async function deliverAt(seconds: number): Promise<void> {
  const deliveredAt = new Date(downAt + seconds * 1_000).toISOString();
  await db.execute(sql`
    update deliveries set state = 'delivered', next_attempt_at = null, delivered_at = ${deliveredAt} where state = 'pending'`);
}

async function acknowledge(): Promise<void> {
  const { rows } = await db.execute<{ id: string }>(sql`select id from incidents`);
  const user = { ...actor, type: 'user', id: monitorId, name: 'Ann', role: 'owner' } as const;
  await acknowledgeIncident(db, user, rows[0]?.id ?? '');
}

async function reminders() {
  return (await readDeliveryLog(db, channelId)).filter(({ event }) => event === 'monitor.down');
}

beforeEach(async () => {
  refused.length = 0;
  await db.execute(
    sql`truncate monitors, channels, status_changes, deliveries, incidents, maintenance_windows cascade`,
  );
  monitorId = (await makeMonitor(context)).id;
  const fields = { name: 'ops', url: 'https://hooks.example', monitorIds: [], allMonitors: true };
  channelId = (await createChannel(context, actor, { ...fields, remindAfter: PERIOD_SECONDS })).id;
  await changeStatus(context, monitorId, 'DOWN');
  const { rows } = await db.execute<{ since: string }>(
    sql`select (extract(epoch from status_since) * 1000)::bigint as since from monitors`,
  );
  downAt = Number(rows[0]?.since);
});

describe('reminders', () => {
  test('repeat monitor.down once for each due time, with timestamps of their own', async () => {
    expect(await remindAt(PERIOD_SECONDS - 1)).toBe(0);
    for (const seconds of [300, 301, 599, 600, 1_500, 1_501]) {
      await remindAt(seconds);
      await deliverAt(seconds);
    }
    const made = await reminders();
    expect(made.map(({ timestamp }) => Math.floor((timestamp.getTime() - downAt) / 1_000))).toEqual([
      300, 600, 1_500,
    ]);
    expect(JSON.parse(made[0]?.payload ?? '')).toMatchObject({
      event: 'monitor.down',
      monitorId,
      status: 'DOWN',
      previousStatus: 'DOWN',
      errorReason: 'HTTP_500',
      timestamp: made[0]?.timestamp.toISOString(),
    });
  });

  test('wait while an earlier one is pending, so that they do not pile up', async () => {
    expect(await remindAt(300)).toBe(1);
    for (const seconds of [600, 900]) expect(await remindAt(seconds)).toBe(0);
    await deliverAt(950);
    expect(await remindAt(960)).toBe(0);
    expect(await remindAt(1_200)).toBe(1);
  });

  test('are made for each account in turn', async () => {
    await db.execute(sql`
      insert into channels (id, account_id, name, url, sealed_secret, all_monitors, remind_after)
      select gen_random_uuid(), account_id, name, url, sealed_secret, true, remind_after from channels, generate_series(1, 600)`);
    const otherId = await makeAccount(context);
    const other = { ...context, accountId: otherId, actor: { ...actor, accountId: otherId } };
    const { id } = await makeMonitor(other);
    const fields = { name: 'ops', url: 'https://hooks.example', monitorIds: [id] };
    await createChannel(other, other.actor, { ...fields, remindAfter: PERIOD_SECONDS });
    await changeStatus(other, id, 'DOWN');
    expect(await remindAt(590, 2)).toBe(501);
    const { rows } = await db.execute(sql`select from deliveries where account_id = ${otherId}`);
    expect(rows).toHaveLength(1);
    expect(await remindAt(591)).toBe(101);
  });

  test('are made once by several notifiers', async () => {
    await Promise.all(Array.from({ length: 5 }, () => remindAt(300)));
    expect(await reminders()).toHaveLength(1);
  });

  test('are made after a crash between their steps', async () => {
    const end = await refuseRows(context, 'monitors', "new.last_timestamp > now() + interval '100 s'");
    expect(await remindAt(300)).toBe(0);
    expect(await reminders()).toEqual([]);
    expect(refused).toEqual([monitorId]);
    await end();
    expect(await remindAt(301)).toBe(1);
  });

  test('follow a pause only after a check', async () => {
    await editMonitor(context, monitorId, { enabled: false });
    expect(await remindAt(300)).toBe(0);
    await editMonitor(context, monitorId, { enabled: true });
    expect(await remindAt(301)).toBe(0);
    await recordChecks(db, [failureOf(monitorId)]);
    expect(await remindAt(302)).toBe(1);
  });

  test.each([
    ['the monitor is up', () => changeStatus(context, monitorId, 'UP')],
    ['a maintenance window has begun', async () => begin(context, await makeWindow(context, [monitorId]))],
    ['it is in maintenance', () => db.execute(sql`update monitors set status = 'MAINTENANCE'`)],
    ['the incident is acknowledged', acknowledge],
    ['the channel is disabled', () => updateChannel(context, actor, channelId, { enabled: false })],
    ['the channel has no reminders', () => updateChannel(context, actor, channelId, { remindAfter: null })],
    [
      'the channel does not receive monitor.down',
      () => updateChannel(context, actor, channelId, { events: ['monitor.up'] }),
    ],
    [
      'the monitor is not assigned',
      () => updateChannel(context, actor, channelId, { allMonitors: false, monitorIds: [] }),
    ],
  ])('are not made if %s', async (_name, change) => {
    await change();
    expect(await remindAt(300)).toBe(0);
  });
});

describe('a pending reminder', () => {
  beforeEach(async () => {
    await dispatchStatusChanges(db, { limit: 10 });
    await deliverAt(0);
    await remindAt(300);
  });

  test.each([
    ['recovers', () => changeStatus(context, monitorId, 'UP')],
    ['enters maintenance', () => db.execute(sql`update monitors set status = 'MAINTENANCE'`)],
    ['has an acknowledged incident', acknowledge],
    ['is deleted', () => deleteMonitor(db, actor, monitorId)],
  ])('is withdrawn when the monitor %s, unless somebody redelivers it', async (_name, change) => {
    await change();
    expect(await claimDeliveries(context, { limit: 10 })).toEqual([]);
    const made = (await reminders()).at(-1);
    expect(made?.state).toBe('failed');
    await redeliver(db, actor, made?.id ?? '');
    expect(await claimDeliveries(context, { limit: 10 })).toMatchObject([{ id: made?.id }]);
  });

  test('is sent while the monitor stays DOWN', async () => {
    expect(await claimDeliveries(context, { limit: 10 })).toMatchObject([{ event: 'monitor.down' }]);
  });
});
