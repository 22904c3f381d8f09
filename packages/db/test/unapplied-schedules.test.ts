import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { systemActor } from '@tocsin/db/audit-log/actor';
import {
  listUnappliedSchedules,
  markScheduled,
  unapplyOutdatedSchedules,
} from '@tocsin/db/monitor-regions/schedules';
import { updateMonitor } from '@tocsin/db/monitors/update-monitors';
import { sql } from 'drizzle-orm';
import { makeMonitor, openTestContext, type TestContext } from './harness.ts';

let context: TestContext;
beforeAll(async () => {
  context = await openTestContext();
});
afterAll(() => context.close());
beforeEach(async () => {
  await context.db.execute(sql`delete from monitors`);
});

async function unapplied(): Promise<(readonly [monitorId: string, revision: number])[]> {
  const schedules = await listUnappliedSchedules(context.db, 10);
  return schedules.map(({ monitorId, revision }) => [monitorId, revision]);
}

test('schedules are applied anew after each change of their monitor', async () => {
  const { id: monitorId } = await makeMonitor(context);
  await makeMonitor(context).then(({ id }) =>
    markScheduled(context.db, [{ monitorId: id, region: 'default', revision: 1 }]),
  );
  expect(await unapplied()).toEqual([[monitorId, 1]]);
  await markScheduled(context.db, [{ monitorId, region: 'default', revision: 1 }]);
  expect(await unapplied()).toEqual([]);
  await updateMonitor(context, systemActor(context.accountId), monitorId, { interval: 120 }, 'default');
  expect(await unapplied()).toEqual([[monitorId, 2]]);
  await markScheduled(context.db, [{ monitorId, region: 'default', revision: 1 }]);
  expect(await unapplied()).toEqual([[monitorId, 2]]);
});

test('a schedule that was left by an earlier version of the service is found', async () => {
  const { id: monitorId } = await makeMonitor(context);
  const { id: other } = await makeMonitor(context);
  await markScheduled(
    context.db,
    [monitorId, other].map((id) => ({ monitorId: id, region: 'default', revision: 1 })),
  );
  await context.db.execute(sql`update monitors set revision = 2 where id = ${monitorId}`);
  await unapplyOutdatedSchedules(context.db);
  expect(await unapplied()).toEqual([[monitorId, 2]]);
});
