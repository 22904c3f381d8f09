import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { advanceWindows } from '@tocsin/db/maintenance-windows/advance-windows';
import { getMaintenanceWindow } from '@tocsin/db/maintenance-windows/read-windows';
import { settleMaintenance } from '@tocsin/db/maintenance-windows/settle-maintenance';
import {
  deleteMaintenanceWindow,
  updateMaintenanceWindow,
} from '@tocsin/db/maintenance-windows/write-windows';
import { updateMonitor } from '@tocsin/db/monitors/update-monitors';
import { checkOf, failureOf, openTestContext, type TestContext } from './harness.ts';
import {
  begin,
  end,
  makeWatched,
  makeWindow,
  moveWindow,
  outcomesOf,
  rowOf,
  storyOf,
  tick,
} from './maintenance-harness.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let context: TestContext;
beforeAll(async () => {
  context = await openTestContext();
});
afterAll(() => context.close());

async function statusOf(id: string): Promise<string> {
  return (await rowOf(context, id)).status;
}

async function windowOf(id: string): ReturnType<typeof getMaintenanceWindow> {
  return getMaintenanceWindow(context.db, context.accountId, id);
}

/** Expects one occurrence, late by this many seconds plus the time since `moved`. Whole milliseconds are stored. */
function expectLate(late: readonly number[], seconds: number, moved: number): void {
  expect(late).toHaveLength(1);
  expect(late[0]).toBeGreaterThanOrEqual(seconds - 0.01);
  expect(late[0]).toBeLessThanOrEqual(seconds + (performance.now() - moved) / 1_000 + 0.01);
}

describe('while every service was down', () => {
  test('a passed occurrence is recorded as missed and sends nothing', async () => {
    const id = await makeWatched(context, [checkOf]);
    const window = await makeWindow(context, [id]);
    await moveWindow(context, window, 2 * HOUR_MS);
    expect(await tick(context)).toBe(0);
    expect(await outcomesOf(context, window)).toEqual(['missed']);
    expect(await windowOf(window)).toMatchObject({ state: 'ended' });
    expect(await statusOf(id)).toBe('UP');
  });

  test('each passed occurrence of a recurring window is recorded as missed, and a current one begins', async () => {
    const id = await makeWatched(context, [checkOf]);
    const window = await makeWindow(context, [id], { rrule: 'FREQ=DAILY' });
    const moved = performance.now();
    await moveWindow(context, window, 3 * DAY_MS + 1_000);
    const { startedLate } = await advanceWindows(context.db);
    expectLate(startedLate, 1, moved);
    await tick(context);
    expect(await outcomesOf(context, window)).toEqual(['missed', 'missed', 'missed']);
    expect(await statusOf(id)).toBe('MAINTENANCE');
    await deleteMaintenanceWindow(context.db, systemActor(context.accountId), window);
    await tick(context);
  });

  test('an end is processed late by the same rules', async () => {
    const id = await makeWatched(context, [checkOf]);
    const window = await makeWindow(context, [id]);
    await begin(context, window);
    await recordChecks(context.db, [failureOf(id)]);
    const moved = performance.now();
    await moveWindow(context, window, 5 * HOUR_MS);
    const { endedLate } = await advanceWindows(context.db);
    expectLate(endedLate, 4 * 3_600, moved);
    await tick(context);
    expect(await outcomesOf(context, window)).toEqual(['completed']);
    expect((await storyOf(context, id)).slice(1)).toEqual([
      'monitor.down MAINTENANCE>DOWN',
      'incident.created MAINTENANCE>DOWN',
    ]);
  });

  test('an occurrence begins late if its end has not passed', async () => {
    const id = await makeWatched(context, [checkOf]);
    const window = await makeWindow(context, [id]);
    await moveWindow(context, window, HOUR_MS - 5_000);
    await tick(context);
    expect(await statusOf(id)).toBe('MAINTENANCE');
    await end(context, window);
  });
});

describe('while the maintenance clock is late', () => {
  test('a check during a due window puts its monitor into maintenance and sends no alert', async () => {
    const id = await makeWatched(context, [checkOf]);
    const window = await makeWindow(context, [id]);
    await moveWindow(context, window, 1);
    const [outcome] = await recordChecks(context.db, [failureOf(id)]);
    expect(outcome).toMatchObject({ kind: 'recorded', statusChangeId: expect.any(String) });
    await recordChecks(context.db, [failureOf(id)]);
    expect(await storyOf(context, id)).toEqual(['monitor.maintenance UP>MAINTENANCE']);
    expect(await rowOf(context, id)).toMatchObject({ status: 'MAINTENANCE', statusBeforeMaintenance: 'UP' });
    await end(context, window);
    expect((await storyOf(context, id)).slice(1)).toEqual([
      'monitor.down MAINTENANCE>DOWN',
      'incident.created MAINTENANCE>DOWN',
    ]);
  });

  test('a new threshold does not make a monitor of a due window DOWN', async () => {
    const id = await makeWatched(context, [checkOf, failureOf], { failureThreshold: 2 });
    const window = await makeWindow(context, [id]);
    await moveWindow(context, window, 1);
    await updateMonitor(context, systemActor(context.accountId), id, { failureThreshold: 1 }, 'default');
    expect(await statusOf(id)).toBe('UP');
    await tick(context);
    expect(await storyOf(context, id)).toEqual(['monitor.maintenance UP>MAINTENANCE']);
    await end(context, window);
  });

  test('a window that has begun is cut short by an end in the past or by a later start', async () => {
    for (const moved of [false, true]) {
      const id = await makeWatched(context, [checkOf]);
      const window = await makeWindow(context, [id]);
      await moveWindow(context, window, 1_000);
      await recordChecks(context.db, [failureOf(id)]);
      const { startsAt } = await windowOf(window);
      const newStart = new Date(moved ? Date.now() + DAY_MS : startsAt);
      const endsAt = new Date(moved ? newStart.getTime() + HOUR_MS : Date.parse(startsAt) + 1);
      const update = { startsAt: newStart, endsAt };
      const after = await updateMaintenanceWindow(context.db, systemActor(context.accountId), window, update);
      expect(after.state).toBe(moved ? 'scheduled' : 'ended');
      expect(await outcomesOf(context, window)).toEqual(['cut_short']);
      await tick(context);
      expect(await statusOf(id)).toBe('DOWN');
    }
  });

  test('a window that has begun continues with a new end', async () => {
    const id = await makeWatched(context, [checkOf]);
    const window = await makeWindow(context, [id]);
    await moveWindow(context, window, 1_000);
    const endsAt = new Date(Date.now() + 9 * HOUR_MS);
    const after = await updateMaintenanceWindow(context.db, systemActor(context.accountId), window, {
      endsAt,
    });
    expect(after).toMatchObject({ state: 'running', currentOccurrence: { endsAt: endsAt.toISOString() } });
    await tick(context);
    expect(await statusOf(id)).toBe('MAINTENANCE');
    await end(context, window);
  });

  test('deleting a window that has begun ends maintenance for the monitors that entered', async () => {
    const id = await makeWatched(context, [checkOf]);
    const window = await makeWindow(context, [id]);
    await moveWindow(context, window, 1);
    await recordChecks(context.db, [failureOf(id)]);
    expect(await deleteMaintenanceWindow(context.db, systemActor(context.accountId), window)).toEqual([id]);
    expect(await settleMaintenance(context.db, [id])).toMatchObject({ monitors: 1 });
    expect(await statusOf(id)).toBe('DOWN');
  });

  test('an occurrence that is over is recorded with its own outcome when the window changes', async () => {
    const id = await makeWatched(context, [checkOf]);
    const window = await makeWindow(context, [id]);
    await begin(context, window);
    await moveWindow(context, window, HOUR_MS + 60_000);
    const startsAt = new Date(Date.now() + DAY_MS);
    const update = { startsAt, endsAt: new Date(startsAt.getTime() + HOUR_MS) };
    await updateMaintenanceWindow(context.db, systemActor(context.accountId), window, update);
    expect(await outcomesOf(context, window)).toEqual(['completed']);
    await tick(context);
    expect(await statusOf(id)).toBe('UP');
    await deleteMaintenanceWindow(context.db, systemActor(context.accountId), window);
  });

  test('an occurrence that is over, but not yet ended, continues with a later end', async () => {
    const id = await makeWatched(context, [checkOf]);
    const window = await makeWindow(context, [id]);
    await begin(context, window);
    await moveWindow(context, window, HOUR_MS + 60_000);
    const endsAt = new Date(Date.now() + HOUR_MS);
    const after = await updateMaintenanceWindow(context.db, systemActor(context.accountId), window, {
      endsAt,
    });
    expect(after).toMatchObject({ state: 'running', currentOccurrence: { endsAt: endsAt.toISOString() } });
    expect(await outcomesOf(context, window)).toEqual([]);
    await end(context, window);
    expect(await outcomesOf(context, window)).toEqual(['completed']);
  });

  test('the outcome of an occurrence depends on the monitors that it had before a change', async () => {
    const id = await makeWatched(context, [checkOf]);
    const another = await makeWatched(context, [checkOf]);
    const window = await makeWindow(context, [id]);
    await begin(context, window);
    await moveWindow(context, window, HOUR_MS + 60_000);
    const startsAt = new Date(Date.now() + DAY_MS);
    await updateMaintenanceWindow(context.db, systemActor(context.accountId), window, {
      monitorIds: [another],
      startsAt,
      endsAt: new Date(startsAt.getTime() + HOUR_MS),
    });
    expect(await outcomesOf(context, window)).toEqual(['completed']);
    await tick(context);
    expect(await statusOf(id)).toBe('UP');
    await deleteMaintenanceWindow(context.db, systemActor(context.accountId), window);
  });

  test('a check after the end of a window does not enter maintenance', async () => {
    const id = await makeWatched(context, [checkOf]);
    const window = await makeWindow(context, [id]);
    await moveWindow(context, window, HOUR_MS + 1);
    await recordChecks(context.db, [failureOf(id)]);
    expect(await statusOf(id)).toBe('DOWN');
    await tick(context);
    expect(await outcomesOf(context, window)).toEqual(['missed']);
  });

  test('an occurrence is completed if all of its monitors entered through their checks', async () => {
    const id = await makeWatched(context, [checkOf]);
    const window = await makeWindow(context, [id]);
    await moveWindow(context, window, 1);
    await recordChecks(context.db, [failureOf(id)]);
    await end(context, window);
    expect(await outcomesOf(context, window)).toEqual(['completed']);
  });

  test('another service plans the next occurrence, and leaves to notifiers what has just become due', async () => {
    const id = await makeWatched(context, [checkOf]);
    const window = await makeWindow(context, [id], { rrule: 'FREQ=DAILY' });
    await moveWindow(context, window, 10_000);
    await advanceWindows(context.db, { behindMs: 30_000 });
    expect(await windowOf(window)).toMatchObject({ state: 'scheduled' });
    await moveWindow(context, window, DAY_MS + 60_000);
    await advanceWindows(context.db, { behindMs: 30_000 });
    expect(await windowOf(window)).toMatchObject({ state: 'running' });
    await recordChecks(context.db, [failureOf(id)]);
    expect(await statusOf(id)).toBe('MAINTENANCE');
    await deleteMaintenanceWindow(context.db, systemActor(context.accountId), window);
    await tick(context);
  });

  test('an occurrence is missed if one of its monitors never entered', async () => {
    const ids = [await makeWatched(context, [checkOf]), await makeWatched(context, [checkOf])];
    const window = await makeWindow(context, ids);
    await moveWindow(context, window, 1);
    // The notifier is killed before the monitors enter.
    await advanceWindows(context.db);
    await recordChecks(context.db, [failureOf(ids[0] ?? '')]);
    await end(context, window);
    expect(await outcomesOf(context, window)).toEqual(['missed']);
    expect(await storyOf(context, ids[1] ?? '')).toEqual([]);
  });
});
