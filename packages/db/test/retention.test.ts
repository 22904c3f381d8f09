import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { countChannels, getChannel, listChannels } from '@tocsin/db/channels/read-channels';
import { deleteChannel } from '@tocsin/db/channels/write-channels';
import { getMonitorStats } from '@tocsin/db/check-rollups/monitor-stats';
import { ensureRollupPartition } from '@tocsin/db/check-rollups/partitions';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { deleteFinished, deleteOldAuditEntries } from '@tocsin/db/database/delete-expired';
import { listPartitions } from '@tocsin/db/database/partitions';
import { purgeDeletedMonitors } from '@tocsin/db/deleted-monitors/purge';
import { claimDeliveries } from '@tocsin/db/deliveries/claim-deliveries';
import { countHeldDeliveries, deliveryBacklog, getDelivery } from '@tocsin/db/deliveries/read-deliveries';
import { createTestDelivery } from '@tocsin/db/deliveries/test-deliveries';
import { findEvent, listEvents, listRecentChecks, tailEvents } from '@tocsin/db/events/read-events';
import { getIncident, listIncidents } from '@tocsin/db/incidents/read-incidents';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { getMonitor } from '@tocsin/db/monitors/read-monitors';
import { dispatchStatusChanges } from '@tocsin/db/status-changes/dispatch-status-changes';
import { tailStatusChanges } from '@tocsin/db/status-changes/tail-status-changes';
import { sql } from 'drizzle-orm';
import { alertOf, changeStatus, claimOne, makeChannel, recordOutcome } from './delivery-steps.ts';
import { checkOf, failureOf, listMonitors, makeMonitor, untilWaiting, useTestContext } from './harness.ts';

const context = await useTestContext();
const { db, accountId, actor } = context;

describe('retention', () => {
  let channelId: string;
  beforeEach(async () => {
    await db.execute(sql`truncate monitors, incidents, channels, status_changes, deliveries cascade`);
    channelId = await makeChannel(context);
  });

  async function count(table: string): Promise<number> {
    const { rows } = await db.execute<{ count: number }>(
      sql`select count(*)::int as count from ${sql.identifier(table)}`,
    );
    return rows[0]?.count ?? NaN;
  }

  /** Adds deliveries made this many days ago, with one attempt each. */
  async function addDeliveries(state: string, days: number, many = 1): Promise<void> {
    await db.execute(sql`
    with made as (
      insert into deliveries (id, account_id, channel_id, status_change_id, monitor_id, event, timestamp, payload, state,
        next_attempt_at, created_at)
      select gen_random_uuid(), ${accountId}, ${channelId}, gen_random_uuid(), gen_random_uuid(), 'monitor.down', now(),
        ${`${state} ${days}`}, ${state}, case when ${state} = 'pending' then now() end, now() - make_interval(days => ${days})
      from generate_series(1, ${many}::int) returning id)
    insert into attempts (delivery_id, number, started_at, duration_ms) select id, 1, now(), 10 from made`);
  }

  test('finished deliveries are deleted after the retention in several batches, and pending ones stay', async () => {
    for (const state of ['delivered', 'failed', 'held', 'pending']) {
      await addDeliveries(state, 91);
      await addDeliveries(state, 89);
    }
    await addDeliveries('delivered', 100, 2_500);
    expect(await deleteFinished(db, 90)).toMatchObject({ deliveries: 2_503, channels: 0 });
    const { rows } = await db.execute<{ payload: string }>(sql`select payload from deliveries order by 1`);
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
    await db.execute(sql`update status_changes set timestamp = now() - interval '1 year'`);
    expect(await deleteFinished(db, 90)).toMatchObject({ statusChanges: 0, incidents: 0 });
    await db.execute(sql`update status_changes set dispatched_at = now() - interval '91 days'
    where to_status = 'UP'`);
    await db.execute(sql`update incidents set opened_at = now() - interval '2 years'`);
    await db.execute(
      sql`update incidents set resolved_at = now() - interval '12 months' where resolved_at is not null`,
    );
    expect(await deleteFinished(db, 90)).toMatchObject({ statusChanges: 1, incidents: 0 });
    await db.execute(
      sql`update incidents set resolved_at = now() - interval '14 months' where resolved_at is not null`,
    );
    expect(await deleteFinished(db, 90)).toMatchObject({ incidents: 1 });
    expect([await count('incidents'), await count('status_changes')]).toEqual([1, 2]);
  });

  test('status changes into and out of maintenance are kept for 13 months', async () => {
    const { id } = await makeMonitor(context);
    await db.execute(sql`
    insert into status_changes (id, account_id, monitor_id, from_status, to_status, region, timestamp, webhook_events, channel_ids,
      dispatched_at)
    select gen_random_uuid(), ${accountId}, c.monitor_id::uuid, from_status, to_status, 'default', now(), '[]', '{}',
      now() - c.age::interval
    from (values (${id}, 'UP', 'MAINTENANCE', '12 months'), (${id}, 'MAINTENANCE', 'UP', '12 months'),
      (${id}, 'UP', 'MAINTENANCE', '14 months'), (${id}, 'UP', 'DOWN', '12 months')) as c (monitor_id, from_status, to_status, age)`);
    expect(await deleteFinished(db, 90)).toMatchObject({ statusChanges: 2 });
    expect(await count('status_changes')).toBe(2);
  });

  test('a deleted channel disappears at once and sends nothing, and its deliveries are deleted later', async () => {
    const { id: monitorId } = await makeMonitor(context);
    await alertOf(context, monitorId, 'DOWN');
    const running = await claimOne(context);
    await changeStatus(context, monitorId, 'UP');
    await createTestDelivery(db, actor, channelId, 'default');
    await deleteChannel(db, actor, channelId);
    const notFound = { code: 'not_found' };
    await expect(getChannel(db, accountId, channelId)).rejects.toMatchObject(notFound);
    await expect(deleteChannel(db, actor, channelId)).rejects.toMatchObject(notFound);
    await expect(getDelivery(db, accountId, running.id)).rejects.toMatchObject(notFound);
    expect(await listChannels(db, accountId)).toEqual([]);
    await recordOutcome(context, running, { kind: 'retry', delayMs: 0 });
    expect(await dispatchStatusChanges(db, { limit: 10 })).toMatchObject({ dueDeliveries: 0 });
    expect(await claimDeliveries(context, { limit: 10 })).toEqual([]);
    expect(await deliveryBacklog(db)).toMatchObject({ count: 0 });
    await db.execute(sql`update deliveries set state = 'held'`);
    expect([await countHeldDeliveries(db), await countChannels(db)]).toMatchObject([0, { disabled: 0 }]);
    expect(await deleteFinished(db, 90)).toMatchObject({ deliveries: 3, channels: 1 });
    expect([await count('deliveries'), await count('attempts')]).toEqual([0, 0]);
  });

  test('entries of the audit log are deleted after 13 months', async () => {
    await db.execute(sql`
    insert into audit_log (id, account_id, timestamp, actor, action, target, changes)
    select gen_random_uuid(), ${accountId}, now() - make_interval(months => months), '{}', months || ' months', '{}', '[]'
    from unnest(array[12, 13]) as months`);
    expect(await deleteOldAuditEntries(db)).toBe(1);
    const { rows } = await db.execute(sql`select action from audit_log where action like '% months'`);
    expect(rows).toEqual([{ action: '12 months' }]);
  });
});

describe('a deleted monitor', () => {
  let id: string;
  beforeAll(() => ensureRollupPartition(db, new Date()));
  /** Makes a monitor with three events, two incidents and a rollup. */
  beforeEach(async () => {
    await purgeDeletedMonitors(db);
    id = (await makeMonitor(context)).id;
    for (const check of [failureOf(id), checkOf(id), failureOf(id)]) await recordChecks(db, [check]);
    await db.execute(sql`
      insert into check_rollups (monitor_id, region, hour, checks, failures, gaps, latency_buckets, latency_counts,
        timed_checks, dns_sum_ms, tcp_sum_ms, tls_sum_ms, first_byte_sum_ms, download_sum_ms)
      select ${id}, 'default', date_trunc('hour', now()), 3, 2, 0, '{5}', '{3}', 3, 1, 1, 1, 1, 1`);
  });

  /** Counts its events, rollups and incidents. */
  async function countHistory(): Promise<number[]> {
    const { rows } = await db.execute<{ count: number }>(sql`
      select count(*)::int as count from events where monitor_id = ${id}
      union all select count(*)::int from check_rollups where monitor_id = ${id}
      union all select count(*)::int from incidents where monitor_id = ${id}`);
    return rows.map(({ count }) => count);
  }

  test('keeps its history until it is purged, in small steps', async () => {
    await deleteMonitor(db, actor, id);
    expect(await countHistory()).toEqual([3, 1, 2]);
    const other = (await makeMonitor(context)).id;
    await recordChecks(db, [failureOf(other)]);
    expect(await purgeDeletedMonitors(db, undefined, 2)).toBe(1);
    expect(await countHistory()).toEqual([0, 0, 0]);
    expect(await listEvents(db, accountId, other, { limit: 10 })).toHaveLength(1);
    expect(await listIncidents(db, accountId, { limit: 10 })).toHaveLength(1);
    await deleteMonitor(db, actor, other);
  });

  test('has no history for any reader at once', async () => {
    const [latest] = await listEvents(db, accountId, id, { limit: 1 });
    const [incident] = await listIncidents(db, accountId, { limit: 1, monitorId: id });
    const before = incident?.id ?? '';
    await deleteMonitor(db, actor, id);
    for (const reading of [
      getMonitor(context, context.viewer, id),
      listEvents(db, accountId, id, { limit: 1 }),
      findEvent(db, accountId, id, new Date(latest?.timestamp ?? '')),
      getMonitorStats(db, accountId, id, { query: {}, retentionDays: 90 }),
      getIncident(db, accountId, before),
    ])
      await expect(reading).rejects.toMatchObject({ code: 'not_found' });
    const unknownCursor = listIncidents(db, accountId, { limit: 1, before });
    await expect(unknownCursor).rejects.toMatchObject({ code: 'validation_failed' });
    const ever = [{ monitorId: id, after: null, upTo: Date.now() + 86_400_000 }];
    const lists = [
      await listMonitors(context, context.viewer),
      await listIncidents(db, accountId, { limit: 10 }),
      await listRecentChecks(db, accountId, [id]),
      await tailEvents(db, accountId, ever, 10),
      await tailStatusChanges(db, accountId, ever, 10),
    ];
    expect(lists).toEqual([[], [], [], [], []]);
  });

  test('is deleted for good, and a late result restores nothing before or after the purge', async () => {
    await deleteMonitor(db, actor, id);
    expect(await recordChecks(db, [failureOf(id)])).toEqual([{ kind: 'gone' }]);
    await purgeDeletedMonitors(db);
    expect(await recordChecks(db, [failureOf(id)])).toEqual([{ kind: 'gone' }]);
    expect(await countHistory()).toEqual([0, 0, 0]);
  });

  test('is purged by the next run if a purge is interrupted', async () => {
    await deleteMonitor(db, actor, id);
    expect(await purgeDeletedMonitors(db, AbortSignal.abort(), 1)).toBe(0);
    expect(await countHistory()).not.toEqual([0, 0, 0]);
    expect(await purgeDeletedMonitors(db)).toBe(1);
    expect(await countHistory()).toEqual([0, 0, 0]);
  });

  test('is purged even if a partition is dropped in the meantime', async () => {
    await deleteMonitor(db, actor, id);
    const { rows } = await db.execute<{ partition: string }>(
      sql`select tableoid::regclass::text as partition from events where monitor_id = ${id}`,
    );
    const partition = sql.identifier(rows[0]?.partition ?? '');
    const last = [...(await listPartitions(db, 'events'))].toSorted().at(-1) ?? '';
    let purged: Promise<number> | undefined;
    await db.transaction(async (tx) => {
      // This locks through the partition, because a lock on the whole table would block the drop.
      await tx.execute(sql`select from ${partition} where monitor_id = ${id} for update`);
      purged = purgeDeletedMonitors(db);
      await untilWaiting(context, 1);
      await db.execute(sql`drop table ${sql.identifier(last)}`);
    });
    expect(await purged).toBe(1);
    expect(await countHistory()).toEqual([0, 0, 0]);
  });
});
