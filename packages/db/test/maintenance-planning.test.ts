import { randomUUID } from 'node:crypto';
import { beforeEach, expect, test } from '@jest/globals';
import { planWindow } from '@tocsin/core/maintenance/plan-window';
import type { Database } from '@tocsin/db/database/open';
import { advanceWindows } from '@tocsin/db/maintenance-windows/advance-windows';
import { maintenanceWindows } from '@tocsin/db/maintenance-windows/table';
import { updateMaintenanceWindow } from '@tocsin/db/maintenance-windows/write-windows';
import { accounts } from '@tocsin/db/users/table';
import { sql } from 'drizzle-orm';
import { checkOf, makeMonitor, useTestContext } from './harness.ts';
import {
  begin,
  changesOf,
  makeWatched,
  makeWindow,
  moveWindow,
  outcomesOf,
  tick,
} from './maintenance-harness.ts';

const context = await useTestContext();
const { db, accountId, actor } = context;

const HOUR_MS = 3_600_000;
/** After nine years and half a day, no occurrence of a daily rule runs or begins during a test, even on the last day of a month. */
const LONG_AGO_MS = (9 * 365 + 0.5) * 24 * HOUR_MS;
/** This rule is valid, and takes tens of milliseconds each time it is evaluated. */
const COSTLY = 'FREQ=MONTHLY;COUNT=366;BYDAY=MO,TU,WE,TH,FR,SA,SU;BYSETPOS=-1';

beforeEach(() => db.execute(sql`truncate monitors, channels, maintenance_windows, status_changes cascade`));

/** Inserts ten-minute windows whose stored occurrence began this long ago. @returns their ids */
async function insertWindows(
  count: number,
  rrule: string | null,
  startedMsAgo: number,
  owner = accountId,
): Promise<string[]> {
  const { rows } = await db.execute<{ id: string }>(sql`
    insert into maintenance_windows (id, account_id, name, starts_at, ends_at, rrule, time_zone, state,
      occurrence_starts_at, occurrence_ends_at)
    select gen_random_uuid(), ${owner}, 'w', s, s + interval '10 minutes', ${rrule}, 'UTC',
      'scheduled', s, s + interval '10 minutes'
    from generate_series(1, ${count}::int),
      lateral (select date_trunc('second', now()) - ${startedMsAgo} * interval '1 millisecond' as s) l
    returning id`);
  return rows.map(({ id }) => id);
}

async function statesOf(ids: readonly string[]): Promise<string[]> {
  const rows = await db.select().from(maintenanceWindows);
  return rows.filter(({ id }) => ids.includes(id)).map(({ state }) => state);
}

/** Counts windows that are over but have not been ended. */
async function countOver(): Promise<number> {
  const { state, occurrenceEndsAt } = maintenanceWindows;
  return db.$count(maintenanceWindows, sql`${state} <> 'ended' and ${occurrenceEndsAt} <= now()`);
}

/** Runs `work` while another process holds the row of this window. */
async function whileHeld(id: string, work: () => Promise<void>): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.execute(sql`select from maintenance_windows where id = ${id} for update`);
    await work();
  });
}

/** Wraps the database to call functions before each transaction begins and after it ends. */
function around(before: () => unknown, after: () => unknown = () => undefined): Database {
  return new Proxy(db, {
    get: (target, name) => {
      if (name !== 'transaction') return Reflect.get(target, name, target) as unknown;
      return async (...args: Parameters<Database['transaction']>) => {
        await before();
        return target.transaction(...args).finally(after);
      };
    },
  });
}

test('rules are evaluated outside of transactions, and all costly windows that end together are planned', async () => {
  const ids = await insertWindows(4, COSTLY, LONG_AGO_MS);
  let open = 0;
  const evaluatedWithin: number[] = [];
  const watchedDb = around(
    () => (open += 1),
    () => (open -= 1),
  );
  const plan: typeof planWindow = (...args) => {
    evaluatedWithin.push(open);
    return planWindow(...args);
  };
  for (let round = 0; round < ids.length && (await countOver()) > 0; round += 1) {
    await advanceWindows(watchedDb, { plan });
  }
  expect(await countOver()).toBe(0);
  expect(evaluatedWithin).toEqual(ids.map(() => 0));
  expect(await statesOf(ids)).toEqual(ids.map(() => 'scheduled'));
  expect((await outcomesOf(context, ids[0] ?? '')).length).toBeGreaterThan(90);
});

test('a round is bounded, begins due windows first, and the next round continues', async () => {
  await insertWindows(3, COSTLY, LONG_AGO_MS);
  const cheap = await insertWindows(1, null, HOUR_MS);
  const monitor = await makeMonitor(context);
  const due = await makeWindow(context, [monitor.id]);
  await moveWindow(context, due, 1);
  await advanceWindows(db, { budgetMs: 0 });
  expect(await statesOf([due])).toEqual(['running']);
  expect(await statesOf(cheap)).toEqual(['ended']);
  expect(await countOver()).toBe(2);
  for (const expected of [1, 0]) {
    await advanceWindows(db, { budgetMs: 0 });
    expect(await countOver()).toBe(expected);
  }
});

test.each([
  ['with a cheap rule', 'FREQ=DAILY'],
  ['with a costly rule', COSTLY],
])('an account with many windows %s that are over does not delay others', async (_, rrule) => {
  await insertWindows(600, rrule, 2 * HOUR_MS);
  const other = randomUUID();
  await db.insert(accounts).values({ id: other, name: 'Other' });
  await insertWindows(1, rrule, HOUR_MS, other);
  const planned: string[] = [];
  // Ends windows without evaluating their rules.
  const plan: typeof planWindow = (window) => {
    planned.push('accountId' in window ? String(window.accountId) : '');
    return { state: 'ended', next: null, missed: [], broken: false };
  };
  await advanceWindows(db, { plan, budgetMs: Infinity });
  expect(planned.slice(0, 2).toSorted()).toEqual([accountId, other].toSorted());
});

test('after a long outage the next occurrence is found at once, and the first missed ones are recorded', async () => {
  const [id = ''] = await insertWindows(1, 'FREQ=HOURLY', 210 * HOUR_MS + HOUR_MS / 2);
  await advanceWindows(db);
  const [row] = await db.select().from(maintenanceWindows);
  expect(row?.state).toBe('scheduled');
  expect((row?.occurrenceStartsAt?.getTime() ?? 0) - Date.now()).toBeLessThanOrEqual(HOUR_MS / 2);
  expect(row?.occurrenceStartsAt && row.occurrenceStartsAt > new Date()).toBe(true);
  const outcomes = await outcomesOf(context, id);
  expect(outcomes).toHaveLength(201);
  expect(new Set(outcomes)).toEqual(new Set(['missed']));
});

test('a window that changes between plan and write keeps the change', async () => {
  const [id = ''] = await insertWindows(1, 'FREQ=DAILY', HOUR_MS);
  const startsAt = new Date(Date.now() + HOUR_MS);
  const changing = around(async () => {
    const update = { startsAt, endsAt: new Date(startsAt.getTime() + HOUR_MS), rrule: null };
    await updateMaintenanceWindow({ db }, actor, id, update);
  });
  expect(await advanceWindows(changing)).toMatchObject({ startedLate: [], endedLate: [], brokenIds: [] });
  const [row] = await db.select().from(maintenanceWindows);
  expect(row).toMatchObject({ state: 'scheduled', occurrenceStartsAt: startsAt });
  // The change records the occurrence that was over.
  expect(await outcomesOf(context, id)).toEqual(['missed']);
});

test('a rule that cannot be evaluated ends and reports its window, and others continue', async () => {
  const [broken = ''] = await insertWindows(1, 'FREQ=NEVER', HOUR_MS);
  const whole = await insertWindows(1, 'FREQ=DAILY', HOUR_MS);
  expect(await advanceWindows(db)).toMatchObject({ brokenIds: [broken] });
  expect(await statesOf([broken])).toEqual(['ended']);
  expect(await statesOf(whole)).toEqual(['scheduled']);
});

test('a locked window does not keep others from beginning or ending', async () => {
  const id = (await makeMonitor(context)).id;
  const [held, starts, ends] = [
    await makeWindow(context, [id]),
    await makeWindow(context, [id]),
    await makeWindow(context, [id]),
  ];
  await begin(context, ends);
  await moveWindow(context, held, 1);
  await moveWindow(context, starts, 1);
  await moveWindow(context, ends, HOUR_MS + 1);
  await whileHeld(held, async () => {
    await advanceWindows(db);
    expect(await statesOf([starts])).toEqual(['running']);
    expect(await statesOf([ends])).toEqual(['ended']);
  });
  await tick(context);
  expect(await statesOf([held])).toEqual(['running']);
});

test('a monitor stays covered while the next window cannot begin yet', async () => {
  const id = await makeWatched(context, [checkOf]);
  const [ends, takesOver] = [await makeWindow(context, [id]), await makeWindow(context, [id])];
  await begin(context, ends);
  await moveWindow(context, ends, HOUR_MS + 1);
  await moveWindow(context, takesOver, 1);
  await whileHeld(takesOver, async () => {
    expect(await tick(context)).toBe(0);
    expect(await statesOf([ends])).toEqual(['ended']);
  });
  await tick(context);
  expect(await changesOf(context, id)).toEqual(['PENDING>UP', 'UP>MAINTENANCE']);
});
