import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { phaseMs } from '@tocsin/core/schedule/slots';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { getMonitorStats } from '@tocsin/db/check-rollups/monitor-stats';
import type { CheckOutcome, CheckRecord } from '@tocsin/db/checks/check-record';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { findEvent, listEvents, listRecentChecks } from '@tocsin/db/events/read-events';
import { incidents } from '@tocsin/db/incidents/table';
import { watchRegions } from '@tocsin/db/monitor-regions/read-regions';
import { monitorRegions } from '@tocsin/db/monitor-regions/table';
import { findMonitorRow } from '@tocsin/db/monitors/monitor-row';
import { monitors } from '@tocsin/db/monitors/table';
import { updateMonitor } from '@tocsin/db/monitors/update-monitors';
import { createTrigger, findTriggerEvent } from '@tocsin/db/triggers/triggers';
import { eq, sql } from 'drizzle-orm';
import { failureOf, makeMonitor, openTestContext, type TestContext } from './harness.ts';

let context: TestContext;
beforeAll(async () => {
  context = await openTestContext();
});
afterAll(() => context.close());
beforeEach(() => context.db.execute(sql`truncate monitors, events, incidents cascade`));

const CUT = { statusCode: null, errorReason: 'TIMEOUT', errorDetail: 'no response' } as const;
const isolated = (id: string, fields: Partial<CheckRecord> = {}): CheckRecord =>
  failureOf(id, { ...CUT, network: 'isolated', ...fields });
const unproven = (id: string, fields: Partial<CheckRecord> = {}): CheckRecord =>
  failureOf(id, { ...CUT, network: 'unproven', ...fields });

async function record(...checks: CheckRecord[]): Promise<CheckOutcome['kind'][]> {
  return (await recordChecks(context.db, checks)).map(({ kind }) => kind);
}

/** Everything that a result may change besides its event: the monitor, its regions, incidents and status changes. */
async function stateOf(id: string): Promise<Record<string, unknown>> {
  const [row] = await context.db.select().from(monitors).where(eq(monitors.id, id));
  const { lastTimestamp: _, ...monitor } = row ?? { lastTimestamp: null };
  const regions = await context.db.select().from(monitorRegions).where(eq(monitorRegions.monitorId, id));
  const opened = await context.db.select().from(incidents);
  const { rowCount } = await context.db.execute(sql`select from status_changes where monitor_id = ${id}`);
  return {
    monitor,
    regions: regions.map(
      ({ recentSlots: _slots, lastCheckedAt: _checked, inconclusiveChecks: _count, ...kept }) => kept,
    ),
    opened,
    rowCount,
  };
}

const regionOf = async (id: string): Promise<typeof monitorRegions.$inferSelect | undefined> =>
  (await context.db.select().from(monitorRegions).where(eq(monitorRegions.monitorId, id)))[0];

test.each(['PENDING', 'UP', 'DOWN'] as const)(
  'an inconclusive result is an event, and a monitor that is %s stays as it is',
  async (status) => {
    const { id } = await makeMonitor(context, { failureThreshold: 2 });
    const failures = { PENDING: 0, UP: 1, DOWN: 3 }[status];
    for (let count = 0; count < failures; count += 1) await record(failureOf(id));
    const before = await stateOf(id);
    expect(before).toMatchObject({ monitor: { status }, opened: status === 'DOWN' ? [{}] : [] });
    for (let count = 0; count < 4; count += 1) expect(await record(isolated(id))).toEqual(['recorded']);
    expect(await stateOf(id)).toEqual(before);
    const events = await listEvents(context.db, context.accountId, id, { limit: 10 });
    expect(events.slice(failures)).toEqual(
      Array.from({ length: 4 }, () =>
        expect.objectContaining({ status: 'DOWN', inconclusive: true, errorReason: 'TIMEOUT' }),
      ),
    );
    expect(events.slice(0, failures).map(({ inconclusive }) => inconclusive)).toEqual(
      Array(failures).fill(false),
    );
  },
);

test('an inconclusive result during maintenance does not end PENDING', async () => {
  const { id } = await makeMonitor(context);
  await context.db.execute(sql`
    update monitors set status = 'MAINTENANCE', status_before_maintenance = 'PENDING' where id = ${id}`);
  const before = async (): Promise<unknown> => (await stateOf(id))['monitor'];
  await record(isolated(id));
  expect(await before()).toMatchObject({ status: 'MAINTENANCE', statusBeforeMaintenance: 'PENDING' });
  await record(failureOf(id));
  expect(await before()).toMatchObject({ status: 'MAINTENANCE', statusBeforeMaintenance: 'UP' });
});

test('an inconclusive result fills its slot: no second result, no gap', async () => {
  const { id } = await makeMonitor(context, { interval: 60 });
  const at = (minute: number): number => 1_800_000_000_000 + minute * 60_000 + phaseMs(id, 60_000);
  const gapOf = async (check: CheckRecord): Promise<unknown> => {
    const [outcome] = await recordChecks(context.db, [check]);
    return outcome?.kind === 'recorded' ? outcome.gap : outcome?.kind;
  };
  expect(await gapOf(failureOf(id, { slot: at(0) }))).toBeNull();
  expect(await gapOf(isolated(id, { slot: at(1) }))).toBeNull();
  expect(await gapOf(isolated(id, { slot: at(2) }))).toBeNull();
  expect(await gapOf(failureOf(id, { slot: at(2) }))).toBe('duplicate');
  expect(await gapOf(failureOf(id, { slot: at(3) }))).toBeNull();
});

test('a result whose network is unproven is not recorded if it would make its region fail', async () => {
  const { id } = await makeMonitor(context, { failureThreshold: 3 });
  const check = unproven(id);
  expect(await record(unproven(id), check, failureOf(id))).toEqual(['recorded', 'busy', 'busy']);
  expect(await record(check)).toEqual(['recorded']);
  const before = await stateOf(id);
  expect(before).toMatchObject({ regions: [{ consecutiveFailures: 2 }], monitor: { status: 'UP' } });
  // The same monitor's next result of the batch need not wait.
  const [waiting, slow] = [unproven(id), unproven(id)];
  expect(await record(waiting)).toEqual(['unproven']);
  expect(await stateOf(id)).toEqual(before);
  expect(await listEvents(context.db, context.accountId, id, { limit: 10 })).toHaveLength(2);
  expect(await record(waiting, { ...slow, network: 'isolated' })).toEqual(['unproven', 'recorded']);
  expect(await record({ ...waiting, network: null })).toEqual(['recorded']);
  expect(await stateOf(id)).toMatchObject({
    monitor: { status: 'DOWN' },
    regions: [{ consecutiveFailures: 3 }],
  });
  // A region that fails already had its proof.
  expect(await record(unproven(id))).toEqual(['recorded']);
});

test('a trigger gets an inconclusive event, and none while its network is unproven', async () => {
  const { id } = await makeMonitor(context);
  const { db, accountId } = context;
  const { id: triggerId } = await createTrigger(db, await findMonitorRow(db, accountId, id), null, 60_000);
  const eventAt = (): Promise<Date | null | undefined> => findTriggerEvent(db, triggerId);
  const check = unproven(id, { source: 'trigger', slot: null, triggerId });
  expect(await record(check)).toEqual(['unproven']);
  expect(await eventAt()).toBeNull();
  expect(await record({ ...check, network: 'isolated' })).toEqual(['recorded']);
  const event = await findEvent(db, accountId, id, (await eventAt()) ?? new Date(0));
  expect(event).toMatchObject({ source: 'trigger', inconclusive: true });
});

test('statistics count inconclusive checks apart', async () => {
  const { id } = await makeMonitor(context);
  await record(failureOf(id));
  await record(isolated(id));
  // It had begun to respond.
  await record(isolated(id, { statusCode: 200, latencyMs: 900 }));
  const stats = await getMonitorStats(context.db, context.accountId, id, { query: {}, retentionDays: 90 });
  expect(stats).toMatchObject({ checks: 1, failures: 1, inconclusive: 2, uptime: 0 });
  expect(stats.latency?.p99).toBeLessThan(100);
  const [recent] = await listRecentChecks(context.db, context.accountId, [id]);
  expect(recent?.checks.map(({ inconclusive }) => inconclusive)).toEqual([false, true, true]);
});

test('a region whose results are inconclusive is not overdue', async () => {
  const { id } = await makeMonitor(context, { interval: 60 });
  await record(failureOf(id));
  await context.db.execute(sql`
    update monitor_regions set since = now() - interval '1 day', last_result_at = now() - interval '1 day',
      last_checked_at = now() - interval '1 day'`);
  const overdue = async (): Promise<number | undefined> =>
    (await watchRegions(context.db, 1)).get('default')?.overdue;
  expect(await overdue()).toBe(1);
  await record(isolated(id));
  expect(await overdue()).toBe(0);
  const { lastCheckedAt, lastResultAt } = (await regionOf(id)) ?? {};
  expect(lastCheckedAt?.getTime()).toBeGreaterThan(lastResultAt?.getTime() ?? Infinity);
  // A result of the previous release, which does not write this column.
  await context.db.execute(sql`update monitor_regions set last_result_at = now(), last_checked_at = null`);
  expect(await overdue()).toBe(0);
});

test('an edit of the check does not make an isolated region overdue, or forget when it was checked', async () => {
  const { id } = await makeMonitor(context);
  await record(isolated(id));
  const before = await regionOf(id);
  await updateMonitor(
    context,
    systemActor(context.accountId),
    id,
    { url: 'https://other.example' },
    'default',
  );
  await record(isolated(id, { revision: 1 }));
  const after = await regionOf(id);
  expect(after?.lastCheckedAt?.getTime()).toBeGreaterThan(before?.lastCheckedAt?.getTime() ?? Infinity);
  expect(after?.lastResultAt).toBeNull();
});
