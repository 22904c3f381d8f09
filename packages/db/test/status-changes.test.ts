import { describe, expect, test } from '@jest/globals';
import { updateMonitorSchema } from '@tocsin/contracts/monitors/monitor';
import type { CheckRecord } from '@tocsin/db/checks/check-record';
import { arrayOf } from '@tocsin/db/database/sql';
import { deliveries } from '@tocsin/db/deliveries/table';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { listIncidents } from '@tocsin/db/incidents/read-incidents';
import { incidents } from '@tocsin/db/incidents/table';
import { monitorRegions } from '@tocsin/db/monitor-regions/table';
import { applySet } from '@tocsin/db/monitor-sets/apply-set';
import { deleteMonitors } from '@tocsin/db/monitors/bulk-writes';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { getMonitor } from '@tocsin/db/monitors/read-monitors';
import { dispatchStatusChanges } from '@tocsin/db/status-changes/dispatch-status-changes';
import { statusChanges } from '@tocsin/db/status-changes/table';
import { and, asc, eq, isNull, sql } from 'drizzle-orm';
import { checkOf, editMonitor, failureOf, listMonitors, makeMonitor, useTestContext } from './harness.ts';
import { begin, end, makeWatched, makeWindow, payloadsOf, rowOf } from './maintenance-harness.ts';

const context = await useTestContext();
const { db, accountId, actor } = context;

type Check = (id: string) => CheckRecord;
const failing = (region: string): Check => {
  return (id) => failureOf(id, { region });
};
const passing = (region: string): Check => {
  return (id) => checkOf(id, { region });
};

/** Edits a monitor. @returns its status */
async function edit(id: string, body: Record<string, unknown>): Promise<string> {
  const { monitor } = await editMonitor(context, id, updateMonitorSchema.parse(body));
  expect((await rowOf(context, id)).status).toBe(monitor.status);
  return monitor.status;
}

/** Records checks in order. @returns the status of the monitor */
async function record(id: string, ...checks: Check[]): Promise<string> {
  for (const check of checks) await recordChecks(db, [check(id)]);
  return (await rowOf(context, id)).status;
}

async function eventsOf(id: string): Promise<string[]> {
  return (await payloadsOf(context, id)).map(({ event, region }) => `${event} ${region}`);
}

async function openIncidents(id: string): Promise<number> {
  return db.$count(incidents, and(eq(incidents.monitorId, id), isNull(incidents.resolvedAt)));
}

describe('an edit', () => {
  test('that lowers the threshold is evaluated at once, with the results of the last check', async () => {
    const id = await makeWatched(context, [checkOf, failureOf], { failureThreshold: 3 });
    const { monitor, statusChange } = await editMonitor(context, id, { failureThreshold: 1 });
    expect(monitor.status).toBe('DOWN');
    expect(await payloadsOf(context, id)).toMatchObject([{ latency: 31, errorReason: 'HTTP_500' }, {}]);
    const isDown = and(eq(statusChanges.monitorId, id), eq(statusChanges.toStatus, 'DOWN'));
    expect(await db.select().from(statusChanges).where(isDown)).toMatchObject([{ id: statusChange?.id }]);
  });

  test('that removes all but the failing region is evaluated at once, except for a PENDING monitor', async () => {
    const id = await makeWatched(context, [passing('eu'), failing('us')], { regions: ['eu', 'us'] });
    expect((await rowOf(context, id)).status).toBe('UP');
    expect(await edit(id, { regions: ['us'] })).toBe('DOWN');
    expect(await edit((await makeMonitor(context)).id, { regions: ['eu'] })).toBe('PENDING');
  });

  test('that changes nothing keeps the revision', async () => {
    const fields = { headers: { 'X-Token': 'abc' }, assertions: { statusCode: 204 }, name: 'Shop' };
    const monitor = await makeMonitor(context, fields);
    const updated = await editMonitor(context, monitor.id, fields);
    expect(updated).toMatchObject({ changed: false, regions: ['default'], monitor });
  });
});

describe('an edit of a DOWN monitor', () => {
  test.each<[string, Check[], { regions: string[] }, Record<string, unknown>]>([
    ['a region added', [failing('a')], { regions: ['a'] }, { regions: ['a', 'b'] }],
    ['its region replaced', [failing('a')], { regions: ['a'] }, { regions: ['b'] }],
    [
      'regions added, and one that passes in the minority',
      [passing('c'), failing('a'), failing('b')],
      { regions: ['a', 'b', 'c'] },
      { regions: ['a', 'b', 'c', 'd', 'e'] },
    ],
    [
      'another target and a higher threshold',
      [failing('a')],
      { regions: ['a'] },
      { url: 'https://other.example', failureThreshold: 3 },
    ],
  ])('recovers nothing without a passed check: %s', async (_, checks, fields, change) => {
    const id = await makeWatched(context, checks, fields);
    const before = await eventsOf(id);
    expect(await edit(id, change)).toBe('DOWN');
    expect(await eventsOf(id)).toEqual(before);
    expect(await openIncidents(id)).toBe(1);
  });

  test('recovers at once if a passing region decides', async () => {
    const checks = [passing('b'), failing('a'), failing('c')];
    const id = await makeWatched(context, checks, { regions: ['a', 'b', 'c'] });
    expect(await edit(id, { regions: ['a', 'b'] })).toBe('UP');
    expect((await eventsOf(id)).slice(2)).toEqual(['monitor.up b', 'incident.resolved b']);
  });
});

describe('deleting a monitor', () => {
  const ways: readonly [string, (id: string) => Promise<readonly string[]>][] = [
    ['alone', (id) => deleteMonitor(db, actor, id)],
    ['with others', async (id) => (await deleteMonitors(db, actor, [id])).statusChangeIds],
    [
      'by a set',
      async (id) => {
        await editMonitor(context, id, { source: 'set' });
        const set = { source: 'set', monitors: [], prune: true, dryRun: false };
        return (await applySet(context, actor, set, 'default')).statusChangeIds;
      },
    ],
  ];

  test.each(ways)('that is DOWN resolves its incident with its last event: %s', async (_, remove) => {
    const id = await makeWatched(context, [failureOf]);
    const [before] = (await payloadsOf(context, id)).slice(-1);
    const statusChangeIds = await remove(id);
    const [last] = (await payloadsOf(context, id)).slice(-1);
    expect(last).toEqual({
      ...before,
      event: 'incident.resolved',
      previousStatus: 'DOWN',
      latency: 0,
      timestamp: expect.any(String),
    });
    expect(last?.timestamp).not.toBe(before?.timestamp);
    await dispatchStatusChanges(db, { statusChangeIds });
    const isMade = sql`status_change_id = any(${arrayOf('uuid', statusChangeIds)})`;
    expect(await db.select().from(deliveries).where(isMade)).toMatchObject([
      { monitorId: id, event: 'incident.resolved', state: 'pending' },
    ]);
  });

  test('without an open incident announces nothing', async () => {
    expect(await deleteMonitor(db, actor, await makeWatched(context, [failureOf, checkOf]))).toEqual([]);
  });
});

describe('after a silence of every region', () => {
  const regions = ['a', 'b', 'c'];
  const ago = sql`clock_timestamp() - interval '1 hour'`;

  async function fallSilent(id: string): Promise<void> {
    await db
      .update(monitorRegions)
      .set({ lastResultAt: ago, since: ago })
      .where(eq(monitorRegions.monitorId, id));
  }

  test('a majority decides, and not the first region to report', async () => {
    const id = await makeWatched(context, [passing('a'), passing('b'), failing('c')], { regions });
    await fallSilent(id);
    expect(await record(id, failing('c'), failing('c'))).toBe('UP');
    expect(await record(id, passing('a'), passing('b'))).toBe('UP');
    expect(await eventsOf(id)).toEqual([]);
    expect(await record(id, failing('a'))).toBe('DOWN');
    expect(await eventsOf(id)).toEqual(['monitor.down a', 'incident.created a']);
  });

  test('regions that stay silent become ineligible again', async () => {
    const id = await makeWatched(context, [passing('a'), passing('b')], { regions });
    await fallSilent(id);
    expect(await record(id, failing('a'))).toBe('UP');
    const silent = and(eq(monitorRegions.monitorId, id), isNull(monitorRegions.lastResultAt));
    await db.update(monitorRegions).set({ since: ago }).where(silent);
    expect(await record(id, failing('a'))).toBe('DOWN');
  });
});

describe('why a monitor is DOWN', () => {
  const fail = (errorDetail: string | null, fields: Partial<CheckRecord> = {}): Check => {
    return (id) => failureOf(id, { errorDetail, ...fields });
  };

  /** Reads the reason in each place that states it. */
  async function wordsOf(id: string): Promise<object> {
    const changes = await db
      .select()
      .from(statusChanges)
      .where(eq(statusChanges.monitorId, id))
      .orderBy(asc(statusChanges.timestamp));
    const found = await listIncidents(db, accountId, { limit: 10, monitorId: id });
    return {
      monitor: (await getMonitor(context, context.viewer, id)).monitor.errorDetail,
      listed: (await listMonitors(context, context.viewer)).find((one) => one.id === id)?.errorDetail,
      changes: changes.map(({ toStatus, errorDetail }) => `${toStatus}: ${errorDetail}`),
      incidents: found.map(({ errorDetail }) => errorDetail),
    };
  }

  test('is stated by the check that decided it, until it recovers', async () => {
    const { id } = await makeMonitor(context, { failureThreshold: 2 });
    const { version } = await getMonitor(context, context.viewer, id);
    await record(id, fail('name shop.example does not exist'));
    expect(await wordsOf(id)).toEqual({ monitor: null, listed: null, changes: ['UP: null'], incidents: [] });
    await record(id, fail('connection refused'), fail('connection reset'));
    const why = 'connection refused';
    const changes = ['UP: null', `DOWN: ${why}`];
    expect(await wordsOf(id)).toEqual({ monitor: why, listed: why, changes, incidents: [why] });
    await record(id, checkOf);
    const recovered = { monitor: null, listed: null, changes: [...changes, 'UP: null'], incidents: [why] };
    expect(await wordsOf(id)).toEqual(recovered);
    expect((await getMonitor(context, context.viewer, id)).version).toBe(version);
    expect(JSON.stringify(await payloadsOf(context, id))).not.toContain('connection refused');
  });

  test('comes from the region that decided', async () => {
    const { id } = await makeMonitor(context, { regions: ['eu', 'us', 'ap'] });
    await record(id, fail('of eu', { region: 'eu' }), passing('us'), passing('ap'));
    await record(id, fail('of ap', { region: 'ap' }));
    expect(await wordsOf(id)).toMatchObject({ monitor: 'of ap', incidents: ['of ap'] });
  });

  test('comes from the failing region after a change of the threshold or the regions', async () => {
    const { id } = await makeMonitor(context, { regions: ['eu', 'us'], failureThreshold: 2 });
    await record(id, fail('of eu', { region: 'eu' }), passing('us'));
    await edit(id, { regions: ['eu'] });
    expect(await wordsOf(id)).toMatchObject({ monitor: null });
    await edit(id, { failureThreshold: 1 });
    expect(await wordsOf(id)).toMatchObject({ monitor: 'of eu', incidents: ['of eu'] });
  });

  test('is announced at the end of maintenance, and returns silently after the next one', async () => {
    const { id } = await makeMonitor(context);
    const why = 'during maintenance';
    const [first, second] = [await makeWindow(context, [id]), await makeWindow(context, [id])];
    await begin(context, first);
    await record(id, fail(why));
    expect(await wordsOf(id)).toMatchObject({ monitor: null });
    await end(context, first);
    const changes = ['MAINTENANCE: null', `DOWN: ${why}`];
    expect(await wordsOf(id)).toMatchObject({ monitor: why, changes, incidents: [why] });
    await begin(context, second);
    expect(await wordsOf(id)).toMatchObject({ monitor: null });
    // This edit resets the results of the regions.
    await edit(id, { url: 'https://other.example/' });
    await end(context, second);
    const later = { monitor: why, changes: [...changes, ...changes], incidents: [why] };
    expect(await wordsOf(id)).toMatchObject(later);
  });

  test('is forgotten if the monitor recovers during maintenance', async () => {
    const { id } = await makeMonitor(context);
    await record(id, fail('before maintenance'));
    const window = await makeWindow(context, [id]);
    await begin(context, window);
    await record(id, checkOf);
    await end(context, window);
    await record(id, fail(null));
    expect(await wordsOf(id)).toMatchObject({ monitor: null, incidents: [null, 'before maintenance'] });
  });
});
