import { describe, expect, test } from '@jest/globals';
import type { CheckRecord } from '@tocsin/db/checks/check-record';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { listEvents } from '@tocsin/db/events/read-events';
import { incidents } from '@tocsin/db/incidents/table';
import { monitorRegions } from '@tocsin/db/monitor-regions/table';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { readOverview } from '@tocsin/db/monitors/read-overview';
import { eq } from 'drizzle-orm';
import { checkOf, editMonitor, failureOf, useTestContext } from './harness.ts';
import {
  begin,
  changesOf,
  end,
  makeWatched,
  makeWindow,
  payloadsOf,
  rowOf,
  storyOf,
  tick,
} from './maintenance-harness.ts';

const context = await useTestContext();
const { db, accountId, actor } = context;

type Check = (id: string, fields?: Partial<CheckRecord>) => CheckRecord;

/** Makes a monitor in maintenance with these checks. */
async function covered(
  checks: readonly Check[],
  fields: Record<string, unknown> = {},
): Promise<{ id: string; window: string }> {
  const id = await makeWatched(context, checks, fields);
  const window = await makeWindow(context, [id]);
  await begin(context, window);
  return { id, window };
}

/** Counts the incidents of a monitor in the form `open of all`. */
async function incidentsOf(monitorId: string): Promise<string> {
  const all = await db.select().from(incidents).where(eq(incidents.monitorId, monitorId));
  return `${all.filter(({ resolvedAt }) => resolvedAt === null).length} of ${all.length}`;
}

describe('when maintenance begins', () => {
  test('the covered status is stored, and one webhook event with a stamp of the monitor’s clock', async () => {
    const id = await makeWatched(context, [(one) => checkOf(one, { region: 'eu' })], {
      regions: ['us', 'eu', 'ap'],
    });
    const before = await rowOf(context, id);
    await begin(context, await makeWindow(context, [id]));
    const row = await rowOf(context, id);
    expect(row).toMatchObject({ status: 'MAINTENANCE', statusBeforeMaintenance: 'UP' });
    expect(await payloadsOf(context, id)).toEqual([
      {
        event: 'monitor.maintenance',
        monitorId: id,
        monitorName: 'Shop',
        status: 'MAINTENANCE',
        previousStatus: 'UP',
        latency: 0,
        errorReason: null,
        region: 'us',
        timestamp: row.statusSince.toISOString(),
        runbookUrl: 'https://runbooks.example/shop',
      },
    ]);
    expect(row.lastTimestamp).toEqual(row.statusSince);
    expect(row.statusSince > (before.lastTimestamp ?? row.statusSince)).toBe(true);
    expect(await tick(context)).toBe(0);
  });
});

describe('when maintenance ends', () => {
  test.each<[string, Check[], Check[], string, string[], string]>([
    [
      'it failed during maintenance',
      [checkOf],
      [failureOf],
      'DOWN',
      ['monitor.down MAINTENANCE>DOWN', 'incident.created MAINTENANCE>DOWN'],
      '1 of 1',
    ],
    [
      'it recovered during maintenance',
      [failureOf],
      [checkOf],
      'UP',
      ['monitor.up MAINTENANCE>UP', 'incident.resolved MAINTENANCE>UP'],
      '0 of 1',
    ],
    ['it still fails', [failureOf], [failureOf], 'DOWN', ['monitor.down MAINTENANCE>DOWN'], '1 of 1'],
    ['it failed and recovered', [checkOf], [failureOf, checkOf], 'UP', [], '0 of 0'],
    ['it was never checked', [], [], 'PENDING', [], '0 of 0'],
  ])('%s', async (_, before, during, status, story, expectedIncidents) => {
    const { id, window } = await covered(before);
    const events = (await storyOf(context, id)).length;
    for (const check of during) {
      const outcomes = await recordChecks(db, [check(id)]);
      expect(outcomes).toMatchObject([{ kind: 'recorded', statusChangeId: null }]);
      expect(await rowOf(context, id)).toMatchObject({ status: 'MAINTENANCE' });
    }
    expect(await storyOf(context, id)).toHaveLength(events);
    const { lastTimestamp } = await rowOf(context, id);
    const { monitors } = await readOverview(db, accountId);
    expect(monitors.find((one) => one.id === id)?.failing).toBe(status === 'DOWN');
    await end(context, window);
    const row = await rowOf(context, id);
    expect(row).toMatchObject({ status, statusBeforeMaintenance: null });
    expect((await storyOf(context, id)).slice(1)).toEqual(story);
    expect(await incidentsOf(id)).toBe(expectedIncidents);
    expect((await changesOf(context, id)).at(-1)).toBe(`MAINTENANCE>${status}`);
    expect(row.statusSince > (lastTimestamp ?? row.statusSince)).toBe(true);
    expect(await tick(context)).toBe(0);
  });

  test('the webhook events carry the last check of a failing region, with two timestamps', async () => {
    const { id, window } = await covered([(one) => checkOf(one, { region: 'us' })], { regions: ['us'] });
    await recordChecks(db, [failureOf(id, { region: 'us', latencyMs: 77 })]);
    await end(context, window);
    const [, down, created] = await payloadsOf(context, id);
    const facts = { latency: 77, errorReason: 'HTTP_500', region: 'us', previousStatus: 'MAINTENANCE' };
    expect(down).toMatchObject({ event: 'monitor.down', ...facts });
    expect(created).toMatchObject({ event: 'incident.created', ...facts });
    expect((down?.timestamp ?? '') < (created?.timestamp ?? '')).toBe(true);
  });

  test('DOWN returns silently without eligible regions', async () => {
    const { id, window } = await covered([failureOf]);
    await recordChecks(db, [checkOf(id)]);
    const longAgo = { lastResultAt: new Date('2020-01-01'), since: new Date('2020-01-01') };
    await db.update(monitorRegions).set(longAgo).where(eq(monitorRegions.monitorId, id));
    await end(context, window);
    expect(await rowOf(context, id)).toMatchObject({ status: 'DOWN' });
    expect((await storyOf(context, id)).slice(1)).toEqual([]);
    expect(await incidentsOf(id)).toBe('1 of 1');
  });
});

describe('during maintenance', () => {
  test('checks are recorded and streaks continue', async () => {
    const { id, window } = await covered([checkOf], { failureThreshold: 2 });
    await recordChecks(db, [failureOf(id)]);
    await end(context, window);
    expect(await rowOf(context, id)).toMatchObject({ status: 'UP' });
    await recordChecks(db, [failureOf(id)]);
    expect((await storyOf(context, id)).slice(1)).toEqual([
      'monitor.down UP>DOWN',
      'incident.created UP>DOWN',
    ]);
    expect(await listEvents(db, accountId, id, { limit: 10 })).toHaveLength(3);
  });

  test('a new threshold or list of regions does not change the status before the end', async () => {
    const { id, window } = await covered([checkOf], { failureThreshold: 3 });
    await recordChecks(db, [failureOf(id)]);
    for (const fields of [{ failureThreshold: 1 }, { regions: ['default', 'eu'] }, { regions: [] }]) {
      const updated = await editMonitor(context, id, fields);
      const unchanged = { statusChange: null, monitor: { status: 'MAINTENANCE' } };
      expect(updated).toMatchObject({ changed: true, ...unchanged });
    }
    expect(await storyOf(context, id)).toHaveLength(1);
    await end(context, window);
    expect(await rowOf(context, id)).toMatchObject({ status: 'DOWN' });
  });

  test('an edit that resets the streak of a DOWN monitor announces no recovery, because only a passed check does', async () => {
    const { id, window } = await covered([failureOf, failureOf, failureOf], { failureThreshold: 3 });
    await editMonitor(context, id, { timeout: 11 });
    await recordChecks(db, [failureOf(id, { revision: 2 })]);
    await end(context, window);
    expect(await rowOf(context, id)).toMatchObject({ status: 'DOWN' });
    expect((await storyOf(context, id)).slice(1)).toEqual([]);
    expect(await incidentsOf(id)).toBe('1 of 1');
    await recordChecks(db, [checkOf(id, { revision: 2 })]);
    expect((await storyOf(context, id)).slice(1)).toEqual([
      'monitor.up DOWN>UP',
      'incident.resolved DOWN>UP',
    ]);
  });

  test('a monitor can be deleted', async () => {
    const { id, window } = await covered([failureOf]);
    await deleteMonitor(db, actor, id);
    await end(context, window);
    const [, ...after] = await storyOf(context, id);
    expect(after).toEqual(['incident.resolved MAINTENANCE>MAINTENANCE']);
  });
});
