import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { incidentSchema } from '@tocsin/contracts/incidents/incident';
import { getIncident, listIncidents } from '@tocsin/db/incidents/read-incidents';
import { countRegionMonitors } from '@tocsin/db/monitor-regions/read-regions';
import { sql } from 'drizzle-orm';
import { changeStatus, makeAccount, makeChannel } from './delivery-steps.ts';
import { makeMonitor, openTestContext, type TestContext } from './harness.ts';

let context: TestContext;
let accountId: string;

beforeAll(async () => {
  context = await openTestContext();
  accountId = context.accountId;
});
afterAll(() => context.close());
beforeEach(async () => {
  await context.db.execute(sql`truncate monitors, incidents, channels, status_changes cascade`);
  // Without a channel, no status change would have due deliveries.
  await makeChannel(context);
});

describe('incidents', () => {
  test('are listed newest first, and filtered by state and by monitor', async () => {
    const startedAt = performance.now();
    const past = (await makeMonitor(context, { name: 'Past' })).id;
    const now = (await makeMonitor(context, { name: 'Now' })).id;
    await changeStatus(context, past, 'DOWN');
    await changeStatus(context, past, 'UP');
    await changeStatus(context, now, 'DOWN');
    await context.db.execute(sql`
      update incidents set opened_at = opened_at - interval '1 hour', resolved_at = resolved_at - interval '10 min'
      where monitor_id = ${past}`);
    await context.db.execute(sql`
      update incidents set opened_at = opened_at - interval '90 s' where monitor_id = ${now}`);
    const all = await listIncidents(context.db, accountId, { limit: 10 });
    expect(all.map((incident) => incidentSchema.parse(incident))).toMatchObject([
      { monitorName: 'Now', resolvedAt: null, cause: 'HTTP_500', region: 'default' },
      { monitorName: 'Past', resolvedAt: expect.any(String), durationSeconds: expect.any(Number) },
    ]);
    // Both include the time that the test itself takes, and up to a second of rounding.
    const maxExtraSeconds = (performance.now() - startedAt) / 1_000 + 1;
    for (const [index, seconds] of [90, 3_000].entries()) {
      expect(all[index]?.durationSeconds).toBeGreaterThanOrEqual(seconds);
      expect(all[index]?.durationSeconds).toBeLessThanOrEqual(seconds + maxExtraSeconds);
    }
    const [open, resolved] = all;
    const list = async (query: object): Promise<unknown[]> =>
      (await listIncidents(context.db, accountId, { limit: 10, ...query })).map(({ id }) => id);
    expect(await list({ state: 'open' })).toEqual([open?.id]);
    expect(await list({ state: 'resolved' })).toEqual([resolved?.id]);
    expect(await list({ monitorId: past })).toEqual([resolved?.id]);
    expect(await list({ before: open?.id })).toEqual([resolved?.id]);
    expect(await list({ limit: 1 })).toEqual([open?.id]);
    expect(await getIncident(context.db, accountId, resolved?.id ?? '')).toEqual(resolved);
  });

  test('of another account are not found', async () => {
    const { id } = await makeMonitor(context);
    await changeStatus(context, id, 'DOWN');
    const [incident] = await listIncidents(context.db, accountId, { limit: 10 });
    const other = await makeAccount(context);
    expect(await listIncidents(context.db, other, { limit: 10 })).toEqual([]);
    expect(await listIncidents(context.db, other, { limit: 10, monitorId: id })).toEqual([]);
    await expect(getIncident(context.db, other, incident?.id ?? '')).rejects.toMatchObject({
      code: 'not_found',
    });
    const wrong = listIncidents(context.db, other, { limit: 10, before: incident?.id });
    await expect(wrong).rejects.toMatchObject({ code: 'validation_failed' });
  });
});

test('counts monitors by region, of one account or of all', async () => {
  await makeMonitor(context, { regions: ['eu', 'us'] });
  await makeMonitor(context, { regions: ['eu'] });
  await makeMonitor(context);
  const other = await makeAccount(context);
  const counts = [
    ['default', 1],
    ['eu', 2],
    ['us', 1],
  ];
  expect([...(await countRegionMonitors(context.db, accountId))]).toEqual(counts);
  expect([...(await countRegionMonitors(context.db, null))]).toEqual(counts);
  expect([...(await countRegionMonitors(context.db, other))]).toEqual([]);
});
