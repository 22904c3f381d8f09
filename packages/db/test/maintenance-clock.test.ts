import { describe, expect, test } from '@jest/globals';
import type { MaintenanceWindowUpdate } from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { advanceWindows } from '@tocsin/db/maintenance-windows/advance-windows';
import { getMaintenanceWindow } from '@tocsin/db/maintenance-windows/read-windows';
import { settleMaintenance } from '@tocsin/db/maintenance-windows/settle-maintenance';
import {
  deleteMaintenanceWindow,
  updateMaintenanceWindow,
} from '@tocsin/db/maintenance-windows/write-windows';
import { sql } from 'drizzle-orm';
import { checkOf, editMonitor, failureOf, useTestContext } from './harness.ts';
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
const ENTERED = 'monitor.maintenance UP>MAINTENANCE';
const WENT_DOWN = ['monitor.down MAINTENANCE>DOWN', 'incident.created MAINTENANCE>DOWN'];

const context = await useTestContext();
const { db, accountId, actor } = context;

async function statusOf(id: string): Promise<string> {
  return (await rowOf(context, id)).status;
}

const windowOf = (id: string) => getMaintenanceWindow(db, accountId, id);
const update = (id: string, fields: MaintenanceWindowUpdate) =>
  updateMaintenanceWindow({ db }, actor, id, fields);
const remove = (id: string) => deleteMaintenanceWindow(db, actor, id);
const fail = (id: string) => recordChecks(db, [failureOf(id)]);

/** Makes a monitor that is UP, with its own window. */
async function watched(rrule: string | null = null): Promise<{ id: string; window: string }> {
  const id = await makeWatched(context, [checkOf]);
  return { id, window: await makeWindow(context, [id], { rrule }) };
}

function tomorrow(): { startsAt: Date; endsAt: Date } {
  const startsAt = new Date(Date.now() + DAY_MS);
  return { startsAt, endsAt: new Date(startsAt.getTime() + HOUR_MS) };
}

describe('the life of a window', () => {
  test('a single window is scheduled, runs and ends', async () => {
    const { window } = await watched();
    await tick(context);
    expect(await windowOf(window)).toMatchObject({ state: 'scheduled', currentOccurrence: null });
    await begin(context, window);
    const running = await windowOf(window);
    expect(running).toMatchObject({ state: 'running', nextOccurrence: null, upcoming: [] });
    expect(running.currentOccurrence).toEqual({ startsAt: running.startsAt, endsAt: running.endsAt });
    await end(context, window);
    const over = { state: 'ended', currentOccurrence: null, nextOccurrence: null };
    expect(await windowOf(window)).toMatchObject(over);
    expect(await outcomesOf(context, window)).toEqual(['completed']);
  });

  test('a recurring window plans the next occurrence when one ends', async () => {
    const { id, window } = await watched('FREQ=DAILY;COUNT=2');
    await begin(context, window);
    await end(context, window);
    const after = await windowOf(window);
    expect(after).toMatchObject({ state: 'scheduled', currentOccurrence: null });
    expect(Date.parse(after.nextOccurrence?.startsAt ?? '') - Date.parse(after.startsAt)).toBe(DAY_MS);
    expect(after.upcoming).toEqual([after.nextOccurrence]);
    expect(await statusOf(id)).toBe('UP');
  });

  test('maintenance lasts until the last of overlapping or adjacent windows ends', async () => {
    const { id, window: first } = await watched();
    const [second, third] = [await makeWindow(context, [id]), await makeWindow(context, [id])];
    await begin(context, first);
    await begin(context, second);
    await end(context, first);
    expect(await statusOf(id)).toBe('MAINTENANCE');
    await db.execute(sql`
      update maintenance_windows set occurrence_starts_at = case id when ${second} then occurrence_starts_at
          else date_trunc('milliseconds', now()) end,
        occurrence_ends_at = case id when ${second} then date_trunc('milliseconds', now()) else occurrence_ends_at end
      where id in (${second}, ${third})`);
    await tick(context);
    expect(await windowOf(second)).toMatchObject({ state: 'ended' });
    expect(await windowOf(third)).toMatchObject({ state: 'running' });
    await end(context, third);
    expect(await statusOf(id)).toBe('UP');
    expect(await storyOf(context, id)).toEqual([ENTERED]);
  });
});

describe('changes of a running window', () => {
  test('monitors join and leave', async () => {
    const { id: leaves, window } = await watched();
    const [stays, joins] = [await makeWatched(context, [checkOf]), await makeWatched(context, [checkOf])];
    await update(window, { monitorIds: [stays, leaves] });
    await begin(context, window);
    await update(window, { monitorIds: [stays, joins] });
    expect(await tick(context)).toBe(2);
    const statuses = [await statusOf(stays), await statusOf(leaves), await statusOf(joins)];
    expect(statuses).toEqual(['MAINTENANCE', 'UP', 'MAINTENANCE']);
    await end(context, window);
  });

  test('extending keeps it running, ending it in the past cuts it short', async () => {
    const { id, window } = await watched();
    await begin(context, window);
    const endsAt = new Date(Date.now() + 9 * HOUR_MS);
    const extended = await update(window, { endsAt });
    expect(extended).toMatchObject({
      state: 'running',
      currentOccurrence: { endsAt: endsAt.toISOString() },
    });
    expect(await tick(context)).toBe(0);
    const cut = await update(window, { endsAt: new Date(Date.parse(extended.startsAt) + 1) });
    expect(cut).toMatchObject({ state: 'ended', currentOccurrence: null });
    expect(await tick(context)).toBe(1);
    expect(await statusOf(id)).toBe('UP');
    expect(await outcomesOf(context, window)).toEqual(['cut_short']);
  });

  test('moving it to a later time ends it and begins it again then, even if it has ended', async () => {
    const { id, window } = await watched();
    await begin(context, window);
    const later = tomorrow();
    const nextOccurrence = { startsAt: later.startsAt.toISOString() };
    expect(await update(window, later)).toMatchObject({ state: 'scheduled', nextOccurrence });
    await tick(context);
    expect(await statusOf(id)).toBe('UP');
    await begin(context, window);
    expect(await statusOf(id)).toBe('MAINTENANCE');
    await end(context, window);
    expect(await update(window, { name: 'New' })).toMatchObject({ name: 'New', state: 'ended' });
    expect(await update(window, tomorrow())).toMatchObject({ state: 'scheduled' });
  });

  test('deleting it ends maintenance, except for monitors that another window covers', async () => {
    const [alone, shared] = [await makeWatched(context, [checkOf]), await makeWatched(context, [checkOf])];
    const [window, other] = [await makeWindow(context, [alone, shared]), await makeWindow(context, [shared])];
    await begin(context, window);
    await begin(context, other);
    const monitorIds = await remove(window);
    expect(monitorIds).toEqual([alone, shared].toSorted());
    expect(await settleMaintenance(db, monitorIds)).toMatchObject({ monitors: 1 });
    expect([await statusOf(alone), await statusOf(shared)]).toEqual(['UP', 'MAINTENANCE']);
    await end(context, other);
  });
});

describe('while every service was down', () => {
  test('each passed occurrence of a recurring window is recorded as missed, and a current one begins', async () => {
    const { id, window } = await watched('FREQ=DAILY');
    await moveWindow(context, window, 3 * DAY_MS + HOUR_MS / 2);
    const { startedLate } = await advanceWindows(db);
    expect(startedLate.map((seconds) => seconds / 3_600)).toEqual([expect.closeTo(0.5, 1)]);
    await tick(context);
    expect(await outcomesOf(context, window)).toEqual(['missed', 'missed', 'missed']);
    expect(await statusOf(id)).toBe('MAINTENANCE');
    await remove(window);
    await tick(context);
  });

  test('an end is processed late by the same rules', async () => {
    const { id, window } = await watched();
    await begin(context, window);
    await fail(id);
    await moveWindow(context, window, 5 * HOUR_MS);
    const { endedLate } = await advanceWindows(db);
    expect(endedLate.map((seconds) => seconds / 3_600)).toEqual([expect.closeTo(4, 1)]);
    expect(endedLate[0]).toBeGreaterThanOrEqual(4 * 3_600 - 1);
    await tick(context);
    expect(await outcomesOf(context, window)).toEqual(['completed']);
    expect(await storyOf(context, id)).toEqual([ENTERED, ...WENT_DOWN]);
  });
});

describe('while the maintenance clock is late', () => {
  test('a check during a due window puts its monitor into maintenance and sends no alert', async () => {
    const { id, window } = await watched();
    await moveWindow(context, window, 1);
    expect(await fail(id)).toMatchObject([{ kind: 'recorded', statusChangeId: expect.any(String) }]);
    await fail(id);
    expect(await storyOf(context, id)).toEqual([ENTERED]);
    expect(await rowOf(context, id)).toMatchObject({ status: 'MAINTENANCE', statusBeforeMaintenance: 'UP' });
    await end(context, window);
    expect(await storyOf(context, id)).toEqual([ENTERED, ...WENT_DOWN]);
    expect(await outcomesOf(context, window)).toEqual(['completed']);
  });

  test('a check after the end of a window does not enter maintenance', async () => {
    const { id, window } = await watched();
    await moveWindow(context, window, HOUR_MS + 1);
    await fail(id);
    expect(await tick(context)).toBe(0);
    expect(await statusOf(id)).toBe('DOWN');
    expect(await outcomesOf(context, window)).toEqual(['missed']);
    expect(await windowOf(window)).toMatchObject({ state: 'ended' });
  });

  test('a new threshold does not make a monitor of a due window DOWN', async () => {
    const id = await makeWatched(context, [checkOf, failureOf], { failureThreshold: 2 });
    const window = await makeWindow(context, [id]);
    await moveWindow(context, window, 1);
    await editMonitor(context, id, { failureThreshold: 1 });
    expect(await statusOf(id)).toBe('UP');
    await tick(context);
    expect(await storyOf(context, id)).toEqual([ENTERED]);
    await end(context, window);
  });

  test.each(['ended', 'scheduled'])(
    'a window that has begun is cut short if it is then %s',
    async (state) => {
      const { id, window } = await watched();
      await moveWindow(context, window, 1_000);
      await fail(id);
      const past = new Date(Date.parse((await windowOf(window)).startsAt) + 1);
      expect((await update(window, state === 'ended' ? { endsAt: past } : tomorrow())).state).toBe(state);
      expect(await outcomesOf(context, window)).toEqual(['cut_short']);
      await tick(context);
      expect(await statusOf(id)).toBe('DOWN');
    },
  );

  test('a window that has begun continues with a new end', async () => {
    const { id, window } = await watched();
    await moveWindow(context, window, 1_000);
    const endsAt = new Date(Date.now() + 9 * HOUR_MS);
    expect(await update(window, { endsAt })).toMatchObject({
      state: 'running',
      currentOccurrence: { endsAt: endsAt.toISOString() },
    });
    await tick(context);
    expect(await statusOf(id)).toBe('MAINTENANCE');
    await end(context, window);
  });

  test('deleting a window that has begun ends maintenance for the monitors that entered', async () => {
    const { id, window } = await watched();
    await moveWindow(context, window, 1);
    await fail(id);
    expect(await remove(window)).toEqual([id]);
    expect(await settleMaintenance(db, [id])).toMatchObject({ monitors: 1 });
    expect(await statusOf(id)).toBe('DOWN');
  });

  test('an occurrence that is over, but not yet ended, continues with a later end', async () => {
    const { window } = await watched();
    await begin(context, window);
    await moveWindow(context, window, HOUR_MS + 60_000);
    const endsAt = new Date(Date.now() + HOUR_MS);
    expect(await update(window, { endsAt })).toMatchObject({ state: 'running' });
    expect(await outcomesOf(context, window)).toEqual([]);
    await end(context, window);
    expect(await outcomesOf(context, window)).toEqual(['completed']);
  });

  test('the outcome of an occurrence that is over depends on the monitors that it had before a change', async () => {
    const { id, window } = await watched();
    const another = await makeWatched(context, [checkOf]);
    await begin(context, window);
    await moveWindow(context, window, HOUR_MS + 60_000);
    await update(window, { monitorIds: [another], ...tomorrow() });
    expect(await outcomesOf(context, window)).toEqual(['completed']);
    await tick(context);
    expect(await statusOf(id)).toBe('UP');
    await remove(window);
  });

  test('an occurrence is missed if one of its monitors never entered', async () => {
    const { id: entered, window } = await watched();
    const absent = await makeWatched(context, [checkOf]);
    await update(window, { monitorIds: [entered, absent] });
    await moveWindow(context, window, 1);
    // The notifier is killed before the monitors enter.
    await advanceWindows(db);
    await fail(entered);
    await end(context, window);
    expect(await outcomesOf(context, window)).toEqual(['missed']);
    expect(await storyOf(context, absent)).toEqual([]);
  });

  test('another service plans the next occurrence, and leaves windows that have just become due to notifiers', async () => {
    const { id, window } = await watched('FREQ=DAILY');
    await moveWindow(context, window, 10_000);
    await advanceWindows(db, { behindMs: 30_000 });
    expect(await windowOf(window)).toMatchObject({ state: 'scheduled' });
    await moveWindow(context, window, DAY_MS + 60_000);
    await advanceWindows(db, { behindMs: 30_000 });
    expect(await windowOf(window)).toMatchObject({ state: 'running' });
    await fail(id);
    expect(await statusOf(id)).toBe('MAINTENANCE');
    await remove(window);
    await tick(context);
  });
});
