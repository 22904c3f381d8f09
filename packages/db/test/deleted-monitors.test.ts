import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { getMonitorStats } from '@tocsin/db/check-rollups/monitor-stats';
import { ensureRollupPartition } from '@tocsin/db/check-rollups/partitions';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import type { Database } from '@tocsin/db/database/open';
import { listPartitions } from '@tocsin/db/database/partitions';
import { purgeDeletedMonitors } from '@tocsin/db/deleted-monitors/purge';
import { findEvent, listEvents, listRecentChecks, tailEvents } from '@tocsin/db/events/read-events';
import { getIncident, listIncidents } from '@tocsin/db/incidents/read-incidents';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { getMonitor } from '@tocsin/db/monitors/read-monitors';
import { tailStatusChanges } from '@tocsin/db/status-changes/tail-status-changes';
import { sql } from 'drizzle-orm';
import {
  checkOf,
  failureOf,
  makeMonitor,
  openTestContext,
  type TestContext,
  untilWaiting,
  listMonitors,
} from './harness.ts';

const HISTORY = ['events', 'check_rollups', 'incidents'] as const;

let context: TestContext;
let id: string;
beforeAll(async () => {
  context = await openTestContext();
  await ensureRollupPartition(context.db, new Date());
});
afterAll(() => context.close());

/** A monitor with three events, an incident and a rollup. */
beforeEach(async () => {
  await purgeDeletedMonitors(context.db);
  id = (await makeMonitor(context)).id;
  for (const check of [failureOf(id), checkOf(id), failureOf(id)]) await recordChecks(context.db, [check]);
  await context.db.execute(sql`
    insert into check_rollups
    select ${id}, 'default', date_trunc('hour', now()), 3, 2, 0, '{5}', '{3}', 3, 1, 1, 1, 1, 1`);
});

async function countHistory(): Promise<Record<string, number>> {
  const counts = HISTORY.map(
    (table) =>
      sql`(select count(*)::int from ${sql.identifier(table)} where monitor_id = ${id}) as ${sql.identifier(table)}`,
  );
  const { rows } = await context.db.execute<Record<string, number>>(sql`select ${sql.join(counts, sql`, `)}`);
  return rows[0] ?? {};
}

/** Rows of the history, of any monitor, that this transaction has deleted. */
async function countDeleted(tx: Database): Promise<number> {
  const { rows } = await tx.execute<{ count: number }>(sql`
    select sum(pg_stat_get_xact_tuples_deleted(oid))::int as count from pg_class
    where relkind = 'r' and relname ~ ${`^(${HISTORY.join('|')})(_\\d|$)`}`);
  return rows[0]?.count ?? NaN;
}

describe('deleting a monitor', () => {
  test('does not delete its history within the request', async () => {
    expect(await countHistory()).toEqual({ events: 3, check_rollups: 1, incidents: 2 });
    await context.db.transaction(async (tx) => {
      await deleteMonitor(tx, systemActor(context.accountId), id);
      expect(await countDeleted(tx)).toBe(0);
    });
    expect(await purgeDeletedMonitors(context.db, undefined, 2)).toBe(1);
    expect(await countHistory()).toEqual({ events: 0, check_rollups: 0, incidents: 0 });
  });

  test('hides its history from every reader at once', async () => {
    const { db, accountId } = context;
    const [latest] = await listEvents(db, accountId, id, { limit: 1 });
    const [incident] = await listIncidents(db, accountId, { limit: 1, monitorId: id });
    const before = incident?.id ?? '';
    await deleteMonitor(db, systemActor(accountId), id);
    const notFound = { code: 'not_found' };
    await expect(getMonitor(context, context.viewer, id)).rejects.toMatchObject(notFound);
    await expect(listEvents(db, accountId, id, { limit: 1 })).rejects.toMatchObject(notFound);
    await expect(findEvent(db, accountId, id, new Date(latest?.timestamp ?? ''))).rejects.toMatchObject(
      notFound,
    );
    await expect(getMonitorStats(db, accountId, id, { query: {}, retentionDays: 90 })).rejects.toMatchObject(
      notFound,
    );
    await expect(getIncident(db, accountId, before)).rejects.toMatchObject(notFound);
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

  test('is final: a late result restores nothing, before or after the purge', async () => {
    await deleteMonitor(context.db, systemActor(context.accountId), id);
    expect(await recordChecks(context.db, [failureOf(id)])).toEqual([{ kind: 'gone' }]);
    await purgeDeletedMonitors(context.db);
    expect(await recordChecks(context.db, [failureOf(id)])).toEqual([{ kind: 'gone' }]);
    expect(await countHistory()).toEqual({ events: 0, check_rollups: 0, incidents: 0 });
  });
});

describe('a purge', () => {
  test('that is interrupted forgets no monitor, and the next one completes it', async () => {
    await deleteMonitor(context.db, systemActor(context.accountId), id);
    expect(await purgeDeletedMonitors(context.db, AbortSignal.abort(), 1)).toBe(0);
    expect(await countHistory()).not.toEqual({ events: 0, check_rollups: 0, incidents: 0 });
    expect(await purgeDeletedMonitors(context.db)).toBe(1);
    expect(await countHistory()).toEqual({ events: 0, check_rollups: 0, incidents: 0 });
  });

  test('continues if a partition is dropped meanwhile', async () => {
    await deleteMonitor(context.db, systemActor(context.accountId), id);
    const { rows } = await context.db.execute<{ partition: string }>(
      sql`select tableoid::regclass::text as partition from events where monitor_id = ${id}`,
    );
    const partition = sql.identifier(rows[0]?.partition ?? '');
    const last = [...(await listPartitions(context.db, 'events'))].toSorted().at(-1) ?? '';
    let purged: Promise<number> | undefined;
    await context.db.transaction(async (tx) => {
      // Through the partition: a lock on the whole table would block the drop.
      await tx.execute(sql`select from ${partition} where monitor_id = ${id} for update`);
      purged = purgeDeletedMonitors(context.db);
      await untilWaiting(context, 1);
      await context.db.execute(sql`drop table ${sql.identifier(last)}`);
    });
    expect(await purged).toBe(1);
    expect(await countHistory()).toEqual({ events: 0, check_rollups: 0, incidents: 0 });
  });

  test('keeps the history of other monitors', async () => {
    const other = (await makeMonitor(context)).id;
    await recordChecks(context.db, [failureOf(other)]);
    await deleteMonitor(context.db, systemActor(context.accountId), id);
    await purgeDeletedMonitors(context.db);
    expect(await listEvents(context.db, context.accountId, other, { limit: 10 })).toHaveLength(1);
    expect(await listIncidents(context.db, context.accountId, { limit: 10 })).toHaveLength(1);
    await deleteMonitor(context.db, systemActor(context.accountId), other);
  });
});
