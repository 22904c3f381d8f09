import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { listEvents } from '@tocsin/db/events/read-events';
import { incidents } from '@tocsin/db/incidents/table';
import { monitorRegions } from '@tocsin/db/monitor-regions/table';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { updateMonitor } from '@tocsin/db/monitors/update-monitors';
import { and, eq, isNull } from 'drizzle-orm';
import { checkOf, failureOf, openTestContext, type TestContext } from './harness.ts';
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

let context: TestContext;
beforeAll(async () => {
  context = await openTestContext();
});
afterAll(() => context.close());

async function incidentsOf(monitorId: string): Promise<{ all: number; open: number }> {
  const all = await context.db.select().from(incidents).where(eq(incidents.monitorId, monitorId));
  const open = await context.db
    .select()
    .from(incidents)
    .where(and(eq(incidents.monitorId, monitorId), isNull(incidents.resolvedAt)));
  return { all: all.length, open: open.length };
}

/** Makes the results so old that no region is eligible any more. */
async function letResultsGoStale(monitorId: string): Promise<void> {
  await context.db
    .update(monitorRegions)
    .set({ lastResultAt: new Date('2020-01-01'), since: new Date('2020-01-01') })
    .where(eq(monitorRegions.monitorId, monitorId));
}

describe('when maintenance begins', () => {
  test('stores the covered status and one webhook event with a stamp of the monitor’s clock', async () => {
    const id = await makeWatched(context, [checkOf]);
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
        region: 'default',
        timestamp: row.statusSince.toISOString(),
        runbookUrl: 'https://runbooks.example/shop',
      },
    ]);
    expect(row.lastTimestamp).toEqual(row.statusSince);
    expect(row.statusSince > (before.lastTimestamp ?? row.statusSince)).toBe(true);
    expect(await tick(context)).toBe(0);
  });

  test('the region is the first of the monitor’s list', async () => {
    const id = await makeWatched(context, [], { regions: ['us', 'eu', 'ap'] });
    await begin(context, await makeWindow(context, [id]));
    expect(await payloadsOf(context, id)).toEqual([expect.objectContaining({ region: 'us' })]);
  });

  test.each([
    ['PENDING', []],
    ['UP', [checkOf]],
    ['DOWN', [failureOf]],
  ] as const)('from %s', async (status, checks) => {
    const id = await makeWatched(context, checks);
    await begin(context, await makeWindow(context, [id]));
    expect(await rowOf(context, id)).toMatchObject({ statusBeforeMaintenance: status });
    expect((await storyOf(context, id))[0]).toBe(`monitor.maintenance ${status}>MAINTENANCE`);
  });
});

type Check = typeof checkOf;
describe('when maintenance ends', () => {
  test.each<[string, Check[], Check[], string, string[], { all: number; open: number }]>([
    [
      'it failed during maintenance',
      [checkOf],
      [failureOf],
      'DOWN',
      ['monitor.down MAINTENANCE>DOWN', 'incident.created MAINTENANCE>DOWN'],
      { all: 1, open: 1 },
    ],
    [
      'it recovered during maintenance',
      [failureOf],
      [checkOf],
      'UP',
      ['monitor.up MAINTENANCE>UP', 'incident.resolved MAINTENANCE>UP'],
      { all: 1, open: 0 },
    ],
    [
      'it still fails',
      [failureOf],
      [failureOf],
      'DOWN',
      ['monitor.down MAINTENANCE>DOWN'],
      { all: 1, open: 1 },
    ],
    ['it still passes', [checkOf], [checkOf], 'UP', [], { all: 0, open: 0 }],
    ['it failed and recovered', [checkOf], [failureOf, checkOf], 'UP', [], { all: 0, open: 0 }],
    ['it was not checked', [checkOf], [], 'UP', [], { all: 0, open: 0 }],
    ['it was never checked', [], [], 'PENDING', [], { all: 0, open: 0 }],
    ['its first check passed', [], [checkOf], 'UP', [], { all: 0, open: 0 }],
    [
      'its first check failed',
      [],
      [failureOf],
      'DOWN',
      ['monitor.down MAINTENANCE>DOWN', 'incident.created MAINTENANCE>DOWN'],
      { all: 1, open: 1 },
    ],
  ])('%s', async (_, before, during, status, story, expectedIncidents) => {
    const id = await makeWatched(context, before);
    const window = await makeWindow(context, [id]);
    await begin(context, window);
    const events = (await storyOf(context, id)).length;
    for (const check of during) {
      const [outcome] = await recordChecks(context.db, [check(id)]);
      expect(outcome).toMatchObject({ kind: 'recorded', statusChangeId: null });
      expect(await rowOf(context, id)).toMatchObject({ status: 'MAINTENANCE' });
    }
    expect(await storyOf(context, id)).toHaveLength(events);
    const { lastTimestamp } = await rowOf(context, id);
    await end(context, window);
    const row = await rowOf(context, id);
    expect(row).toMatchObject({ status, statusBeforeMaintenance: null });
    expect((await storyOf(context, id)).slice(1)).toEqual(story);
    expect(await incidentsOf(id)).toEqual(expectedIncidents);
    expect((await changesOf(context, id)).at(-1)).toBe(`MAINTENANCE>${status}`);
    expect(row.statusSince > (lastTimestamp ?? row.statusSince)).toBe(true);
    expect(await tick(context)).toBe(0);
  });

  test('the webhook events carry the last check of a failing region, with two timestamps', async () => {
    const id = await makeWatched(context, [(one) => checkOf(one, { region: 'us' })], { regions: ['us'] });
    const window = await makeWindow(context, [id]);
    await begin(context, window);
    await recordChecks(context.db, [failureOf(id, { region: 'us', latencyMs: 77 })]);
    await end(context, window);
    const [, down, created] = await payloadsOf(context, id);
    const facts = { latency: 77, errorReason: 'HTTP_500', region: 'us', previousStatus: 'MAINTENANCE' };
    expect(down).toMatchObject({ event: 'monitor.down', ...facts });
    expect(created).toMatchObject({ event: 'incident.created', ...facts });
    expect((down?.timestamp ?? '') < (created?.timestamp ?? '')).toBe(true);
  });

  test.each([
    ['UP', [checkOf], []],
    ['DOWN', [failureOf], [checkOf]],
    ['PENDING that a check has ended', [], [failureOf]],
  ] as const)('without eligible regions, %s comes back silently', async (status, before, during) => {
    const id = await makeWatched(context, before);
    const window = await makeWindow(context, [id]);
    await begin(context, window);
    for (const check of during) await recordChecks(context.db, [check(id)]);
    await letResultsGoStale(id);
    await end(context, window);
    const expected = status === 'DOWN' ? 'DOWN' : 'UP';
    expect(await rowOf(context, id)).toMatchObject({ status: expected });
    expect((await storyOf(context, id)).slice(1)).toEqual([]);
    expect(await incidentsOf(id)).toEqual(expected === 'DOWN' ? { all: 1, open: 1 } : { all: 0, open: 0 });
  });

  test('the next check is evaluated normally', async () => {
    const id = await makeWatched(context, [checkOf]);
    const window = await makeWindow(context, [id]);
    await begin(context, window);
    await end(context, window);
    await recordChecks(context.db, [failureOf(id)]);
    expect((await storyOf(context, id)).slice(1)).toEqual([
      'monitor.down UP>DOWN',
      'incident.created UP>DOWN',
    ]);
  });
});

describe('during maintenance', () => {
  test('checks are recorded and streaks continue', async () => {
    const id = await makeWatched(context, [checkOf], { failureThreshold: 2 });
    const window = await makeWindow(context, [id]);
    await begin(context, window);
    await recordChecks(context.db, [failureOf(id)]);
    await end(context, window);
    expect(await rowOf(context, id)).toMatchObject({ status: 'UP' });
    await recordChecks(context.db, [failureOf(id)]);
    expect(await rowOf(context, id)).toMatchObject({ status: 'DOWN' });
    expect(await listEvents(context.db, context.accountId, id, { limit: 10 })).toHaveLength(3);
  });

  test('a triggered check counts, one with another URL does not', async () => {
    const [counted, preview] = [await makeWatched(context, []), await makeWatched(context, [])];
    const window = await makeWindow(context, [counted, preview]);
    await begin(context, window);
    const trigger = { source: 'trigger', slot: null } as const;
    await recordChecks(context.db, [failureOf(counted, trigger)]);
    await recordChecks(context.db, [failureOf(preview, { ...trigger, urlOverride: 'https://new.example' })]);
    await end(context, window);
    expect(await rowOf(context, counted)).toMatchObject({ status: 'DOWN' });
    expect(await rowOf(context, preview)).toMatchObject({ status: 'PENDING' });
  });

  test('a new threshold, list of regions or URL does not change the status before the end', async () => {
    const id = await makeWatched(context, [checkOf], { failureThreshold: 3 });
    const window = await makeWindow(context, [id]);
    await begin(context, window);
    await recordChecks(context.db, [failureOf(id)]);
    for (const fields of [{ failureThreshold: 1 }, { regions: ['default', 'eu'] }, { regions: [] }]) {
      const updated = await updateMonitor(context, systemActor(context.accountId), id, fields, 'default');
      expect(updated).toMatchObject({
        changed: true,
        statusChange: null,
        monitor: { status: 'MAINTENANCE' },
      });
    }
    expect(await storyOf(context, id)).toHaveLength(1);
    await end(context, window);
    expect(await rowOf(context, id)).toMatchObject({ status: 'DOWN' });
  });

  test('a new URL resets the results of the old one', async () => {
    const id = await makeWatched(context, [failureOf]);
    const window = await makeWindow(context, [id]);
    await begin(context, window);
    await updateMonitor(
      context,
      systemActor(context.accountId),
      id,
      { url: 'https://new.example' },
      'default',
    );
    await end(context, window);
    expect(await rowOf(context, id)).toMatchObject({ status: 'DOWN' });
    expect(await storyOf(context, id)).toHaveLength(1);
  });

  test('an edit that resets the streak of a DOWN monitor announces no recovery: only a passed check does', async () => {
    const [id, recovered] = [
      await makeWatched(context, [failureOf, failureOf, failureOf], { failureThreshold: 3 }),
      await makeWatched(context, [failureOf, failureOf, failureOf], { failureThreshold: 3 }),
    ];
    const window = await makeWindow(context, [id, recovered]);
    await begin(context, window);
    for (const one of [id, recovered]) {
      await updateMonitor(context, systemActor(context.accountId), one, { timeout: 11 }, 'default');
      await recordChecks(context.db, [failureOf(one, { revision: 2 })]);
    }
    await recordChecks(context.db, [checkOf(recovered, { revision: 2 })]);
    await end(context, window);
    expect(await rowOf(context, id)).toMatchObject({ status: 'DOWN' });
    expect((await storyOf(context, id)).slice(1)).toEqual([]);
    expect(await incidentsOf(id)).toEqual({ all: 1, open: 1 });
    expect(await rowOf(context, recovered)).toMatchObject({ status: 'UP' });
    expect(await incidentsOf(recovered)).toEqual({ all: 1, open: 0 });
    await recordChecks(context.db, [checkOf(id, { revision: 2 })]);
    expect((await storyOf(context, id)).slice(1)).toEqual([
      'monitor.up DOWN>UP',
      'incident.resolved DOWN>UP',
    ]);
  });

  test('a region added to a DOWN monitor announces no recovery', async () => {
    const id = await makeWatched(context, [failureOf]);
    const window = await makeWindow(context, [id]);
    await begin(context, window);
    await updateMonitor(
      context,
      systemActor(context.accountId),
      id,
      { regions: ['default', 'eu'] },
      'default',
    );
    await end(context, window);
    expect(await rowOf(context, id)).toMatchObject({ status: 'DOWN' });
    expect((await storyOf(context, id)).slice(1)).toEqual([]);
    expect(await incidentsOf(id)).toEqual({ all: 1, open: 1 });
  });

  test('a monitor can be deleted', async () => {
    const id = await makeWatched(context, [failureOf]);
    const window = await makeWindow(context, [id]);
    await begin(context, window);
    await deleteMonitor(context.db, systemActor(context.accountId), id);
    await end(context, window);
    expect(await storyOf(context, id)).toHaveLength(1);
  });
});
