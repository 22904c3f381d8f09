import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { updateMonitorSchema } from '@tocsin/contracts/monitors/monitor';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import type { CheckRecord } from '@tocsin/db/checks/check-record';
import { incidents } from '@tocsin/db/incidents/table';
import { monitorRegions } from '@tocsin/db/monitor-regions/table';
import { updateMonitor } from '@tocsin/db/monitors/update-monitors';
import { and, eq, isNull, sql } from 'drizzle-orm';
import { checkOf, failureOf, openTestContext, type TestContext } from './harness.ts';
import { makeWatched, payloadsOf, rowOf } from './maintenance-harness.ts';

let context: TestContext;
beforeAll(async () => {
  context = await openTestContext();
});
afterAll(() => context.close());

type Check = (id: string) => CheckRecord;
const failing = (region: string): Check => {
  return (id) => failureOf(id, { region });
};
const passing = (region: string): Check => {
  return (id) => checkOf(id, { region });
};

async function edit(id: string, body: Record<string, unknown>): Promise<string> {
  const update = updateMonitorSchema.parse(body);
  const { monitor } = await updateMonitor(context, systemActor(context.accountId), id, update, 'default');
  expect((await rowOf(context, id)).status).toBe(monitor.status);
  return monitor.status;
}

async function record(id: string, ...checks: Check[]): Promise<string> {
  for (const check of checks) await recordChecks(context.db, [check(id)]);
  return (await rowOf(context, id)).status;
}

async function eventsOf(id: string): Promise<string[]> {
  return (await payloadsOf(context, id)).map(({ event, region }) => `${event} ${region}`);
}

async function openIncidents(id: string): Promise<number> {
  return context.db.$count(incidents, and(eq(incidents.monitorId, id), isNull(incidents.resolvedAt)));
}

describe('an edit of a DOWN monitor', () => {
  test.each<[string, Check[], { regions: string[]; failureThreshold?: number }, Record<string, unknown>]>([
    ['a region added', [failing('a')], { regions: ['a'] }, { regions: ['a', 'b'] }],
    ['its region replaced', [failing('a')], { regions: ['a'] }, { regions: ['b'] }],
    [
      'regions added, and one that passes in the minority',
      [passing('c'), failing('a'), failing('b')],
      { regions: ['a', 'b', 'c'] },
      { regions: ['a', 'b', 'c', 'd', 'e'] },
    ],
    ['a higher threshold', [failing('a')], { regions: ['a'] }, { failureThreshold: 3 }],
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

  test('is followed by a recovery once the new region passes', async () => {
    const id = await makeWatched(context, [failing('a')], { regions: ['a'] });
    await edit(id, { regions: ['a', 'b'] });
    expect(await record(id, failing('a'))).toBe('DOWN');
    expect(await record(id, passing('b'))).toBe('UP');
    expect(await openIncidents(id)).toBe(0);
  });
});

describe('after a silence of every region', () => {
  async function fallSilent(id: string): Promise<void> {
    const ago = sql`clock_timestamp() - interval '1 hour'`;
    await context.db
      .update(monitorRegions)
      .set({ lastResultAt: ago, since: ago })
      .where(eq(monitorRegions.monitorId, id));
  }
  const regions = ['a', 'b', 'c'];

  test('the first to report does not decide alone, nor do its next checks', async () => {
    const id = await makeWatched(context, [passing('a'), passing('b'), failing('c')], { regions });
    await fallSilent(id);
    expect(await record(id, failing('c'), failing('c'))).toBe('UP');
    expect(await record(id, passing('a'), passing('b'))).toBe('UP');
    expect(await eventsOf(id)).toEqual([]);
    expect(await record(id, failing('a'))).toBe('DOWN');
  });

  test('DOWN is announced once a majority has reported failures', async () => {
    const id = await makeWatched(context, [passing('a'), passing('b'), passing('c')], { regions });
    await fallSilent(id);
    expect(await record(id, failing('c'))).toBe('UP');
    expect(await record(id, failing('a'))).toBe('DOWN');
    expect(await eventsOf(id)).toEqual(['monitor.down a', 'incident.created a']);
  });

  test('regions that stay silent become ineligible again', async () => {
    const id = await makeWatched(context, [passing('a'), passing('b')], { regions });
    await fallSilent(id);
    expect(await record(id, failing('a'))).toBe('UP');
    await context.db
      .update(monitorRegions)
      .set({ since: sql`clock_timestamp() - interval '1 hour'` })
      .where(and(eq(monitorRegions.monitorId, id), isNull(monitorRegions.lastResultAt)));
    expect(await record(id, failing('a'))).toBe('DOWN');
  });

  test('a failing check recovers nothing', async () => {
    const id = await makeWatched(context, [failing('a'), failing('b'), failing('c')], { regions });
    await fallSilent(id);
    expect(await record(id, failing('b'))).toBe('DOWN');
    expect(await openIncidents(id)).toBe(1);
    expect(await record(id, passing('a'))).toBe('UP');
  });
});
