import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { countChannels, getChannel, listChannels } from '@tocsin/db/channels/read-channels';
import { deleteChannel } from '@tocsin/db/channels/write-channels';
import { deleteFinished, deleteOldAuditEntries } from '@tocsin/db/database/delete-expired';
import { claimDeliveries } from '@tocsin/db/deliveries/claim-deliveries';
import { countHeldDeliveries, deliveryBacklog, getDelivery } from '@tocsin/db/deliveries/read-deliveries';
import { createTestDelivery } from '@tocsin/db/deliveries/test-deliveries';
import { dispatchStatusChanges } from '@tocsin/db/status-changes/dispatch-status-changes';
import { sql } from 'drizzle-orm';
import { alertOf, changeStatus, claimOne, makeChannel, recordOutcome } from './delivery-steps.ts';
import { makeMonitor, openTestContext, type TestContext } from './harness.ts';

let context: TestContext;
let channelId: string;
beforeAll(async () => {
  context = await openTestContext();
});
afterAll(() => context.close());
beforeEach(async () => {
  await context.db.execute(sql`truncate monitors, incidents, channels, status_changes, deliveries cascade`);
  channelId = await makeChannel(context);
});

async function count(table: string): Promise<number> {
  const { rows } = await context.db.execute<{ count: number }>(
    sql`select count(*)::int as count from ${sql.identifier(table)}`,
  );
  return rows[0]?.count ?? NaN;
}

/** Deliveries made so many days ago, one attempt each. */
async function addDeliveries(state: string, days: number, many = 1): Promise<void> {
  await context.db.execute(sql`
    with made as (
      insert into deliveries (id, account_id, channel_id, status_change_id, monitor_id, event, timestamp, payload, state,
        next_attempt_at, created_at)
      select gen_random_uuid(), ${context.accountId}, ${channelId}, gen_random_uuid(), gen_random_uuid(), 'monitor.down', now(),
        ${`${state} ${days}`}, ${state}, case when ${state} = 'pending' then now() end, now() - make_interval(days => ${days})
      from generate_series(1, ${many}::int) returning id)
    insert into attempts (delivery_id, number, started_at, duration_ms) select id, 1, now(), 10 from made`);
}

test('finished deliveries are deleted after the retention in several batches; pending ones stay', async () => {
  for (const state of ['delivered', 'failed', 'held', 'pending']) {
    await addDeliveries(state, 91);
    await addDeliveries(state, 89);
  }
  await addDeliveries('delivered', 100, 2_500);
  expect(await deleteFinished(context.db, 90)).toMatchObject({ deliveries: 2_503, channels: 0 });
  const { rows } = await context.db.execute<{ payload: string }>(
    sql`select payload from deliveries order by 1`,
  );
  expect(rows.map(({ payload }) => payload)).toEqual([
    'delivered 89',
    'failed 89',
    'held 89',
    'pending 89',
    'pending 91',
  ]);
  expect(await count('attempts')).toBe(5);
});

test('dispatched status changes are deleted after the retention, resolved incidents after 13 months', async () => {
  const { id } = await makeMonitor(context);
  for (const to of ['DOWN', 'UP', 'DOWN'] as const) await changeStatus(context, id, to);
  await context.db.execute(sql`update status_changes set timestamp = now() - interval '1 year'`);
  expect(await deleteFinished(context.db, 90)).toMatchObject({ statusChanges: 0, incidents: 0 });
  await context.db.execute(sql`update status_changes set dispatched_at = now() - interval '91 days'
    where to_status = 'UP'`);
  await context.db.execute(sql`update incidents set opened_at = now() - interval '2 years'`);
  await context.db.execute(
    sql`update incidents set resolved_at = now() - interval '12 months' where resolved_at is not null`,
  );
  expect(await deleteFinished(context.db, 90)).toMatchObject({ statusChanges: 1, incidents: 0 });
  await context.db.execute(
    sql`update incidents set resolved_at = now() - interval '14 months' where resolved_at is not null`,
  );
  expect(await deleteFinished(context.db, 90)).toMatchObject({ incidents: 1 });
  expect([await count('incidents'), await count('status_changes')]).toEqual([1, 2]);
});

test('status changes into and out of maintenance are kept for 13 months', async () => {
  const { id } = await makeMonitor(context);
  await context.db.execute(sql`
    insert into status_changes (id, account_id, monitor_id, from_status, to_status, region, timestamp, webhook_events, channel_ids,
      dispatched_at)
    select gen_random_uuid(), ${context.accountId}, c.monitor_id::uuid, from_status, to_status, 'default', now(), '[]', '{}',
      now() - c.age::interval
    from (values (${id}, 'UP', 'MAINTENANCE', '12 months'), (${id}, 'MAINTENANCE', 'UP', '12 months'),
      (${id}, 'UP', 'MAINTENANCE', '14 months'), (${id}, 'UP', 'DOWN', '12 months')) as c (monitor_id, from_status, to_status, age)`);
  expect(await deleteFinished(context.db, 90)).toMatchObject({ statusChanges: 2 });
  expect(await count('status_changes')).toBe(2);
});

test('a deleted channel disappears at once and sends nothing; its deliveries are deleted later', async () => {
  const { db, accountId } = context;
  const { id: monitorId } = await makeMonitor(context);
  await alertOf(context, monitorId, 'DOWN');
  const running = await claimOne(context);
  await changeStatus(context, monitorId, 'UP');
  await createTestDelivery(db, accountId, channelId, 'default');
  await deleteChannel(db, systemActor(accountId), channelId);
  const notFound = { code: 'not_found' };
  await expect(getChannel(db, accountId, channelId)).rejects.toMatchObject(notFound);
  await expect(deleteChannel(db, systemActor(accountId), channelId)).rejects.toMatchObject(notFound);
  await expect(getDelivery(db, accountId, running.id)).rejects.toMatchObject(notFound);
  expect(await listChannels(db, accountId)).toEqual([]);
  await recordOutcome(context, running, { kind: 'retry', delayMs: 0 });
  expect(await dispatchStatusChanges(db, { limit: 10 })).toMatchObject({ deliveryIds: [] });
  expect(await claimDeliveries(context, { limit: 10 })).toEqual([]);
  expect(await deliveryBacklog(db)).toMatchObject({ count: 0 });
  await context.db.execute(sql`update deliveries set state = 'held'`);
  expect([await countHeldDeliveries(db), await countChannels(db)]).toMatchObject([0, { disabled: 0 }]);
  expect(await deleteFinished(db, 90)).toMatchObject({ deliveries: 3, channels: 1 });
  expect([await count('deliveries'), await count('attempts'), await count('channels')]).toEqual([0, 0, 0]);
});

test('entries of the audit log are deleted after 13 months', async () => {
  await context.db.execute(sql`
    insert into audit_log (id, account_id, timestamp, actor, action, target, changes)
    select gen_random_uuid(), ${context.accountId}, now() - make_interval(months => months), '{}', months || ' months', '{}', '[]'
    from unnest(array[12, 13]) as months`);
  expect(await deleteOldAuditEntries(context.db)).toBe(1);
  const { rows } = await context.db.execute(sql`select action from audit_log where action like '% months'`);
  expect(rows).toEqual([{ action: '12 months' }]);
});
