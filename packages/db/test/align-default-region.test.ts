import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { countRegionMonitors } from '@tocsin/db/monitor-regions/read-regions';
import { alignDefaultRegion } from '@tocsin/db/monitor-regions/schedule-spans';
import { updateMonitor } from '@tocsin/db/monitors/update-monitors';
import { sql } from 'drizzle-orm';
import { checkOf, makeMonitor, openTestContext, type TestContext, untilWaiting } from './harness.ts';

let context: TestContext;
beforeAll(async () => {
  context = await openTestContext();
});
afterAll(() => context.close());
beforeEach(() => context.db.execute(sql`truncate monitors cascade`));

async function countRegions(): Promise<Record<string, number>> {
  return Object.fromEntries(await countRegionMonitors(context.db, null));
}

test('moves all monitors without regions, and no others', async () => {
  const { id } = await makeMonitor(context);
  await makeMonitor(context, { regions: ['default', 'eu'] });
  await context.db.execute(sql`
    insert into monitors (id, account_id, name, url, type, interval_seconds, timeout_seconds, method, failure_threshold, regions)
    select gen_random_uuid(), account_id, name, url, type, interval_seconds, timeout_seconds, method, failure_threshold, regions
    from monitors, generate_series(1, 1200) where id = ${id}`);
  await context.db.execute(sql`
    insert into monitor_regions (monitor_id, region)
    select id, 'default' from monitors where regions = '{}' on conflict do nothing`);
  expect(await alignDefaultRegion(context.db, 'ap')).toBe(1_201);
  expect(await countRegions()).toEqual({ ap: 1_201, default: 1, eu: 1 });
  expect(await alignDefaultRegion(context.db, 'ap')).toBe(0);
});

test('waits for a locked monitor before it changes its regions', async () => {
  const { id } = await makeMonitor(context);
  let aligning: Promise<number> | undefined;
  await context.db.transaction(async (holder) => {
    await holder.execute(sql`select from monitors where id = ${id} for no key update`);
    aligning = alignDefaultRegion(context.db, 'ap');
    await untilWaiting(context, 1);
    expect(await countRegions()).toEqual({ default: 1 });
  });
  expect(await aligning).toBe(1);
  const [outcome] = await recordChecks(context.db, [checkOf(id, { region: 'ap' })]);
  expect(outcome).toMatchObject({ kind: 'recorded' });
});

test('skips a monitor that gets regions of its own meanwhile', async () => {
  const { id } = await makeMonitor(context);
  let aligning: Promise<number> | undefined;
  await context.db.transaction(async (tx) => {
    await updateMonitor(
      { ...context, db: tx },
      systemActor(context.accountId),
      id,
      { regions: ['eu'] },
      'default',
    );
    aligning = alignDefaultRegion(context.db, 'ap');
    await untilWaiting(context, 1);
  });
  expect(await aligning).toBe(0);
  expect(await countRegions()).toEqual({ eu: 1 });
});
