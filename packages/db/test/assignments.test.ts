import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { Labels } from '@tocsin/contracts/labels/labels';
import type { Selector } from '@tocsin/contracts/labels/selector';
import { LIMITS } from '@tocsin/contracts/limits';
import type { WebhookEvent } from '@tocsin/contracts/vocabulary';
import { lockAssignments } from '@tocsin/db/assignments/assignments';
import { getChannel } from '@tocsin/db/channels/read-channels';
import { createChannel, deleteChannel, updateChannel } from '@tocsin/db/channels/write-channels';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { deleteFinished } from '@tocsin/db/database/delete-expired';
import type { Transaction } from '@tocsin/db/database/open';
import { settleMaintenance } from '@tocsin/db/maintenance-windows/settle-maintenance';
import { maintenanceWindowMonitors } from '@tocsin/db/maintenance-windows/table';
import { createMaintenanceWindow } from '@tocsin/db/maintenance-windows/create-window';
import {
  deleteMaintenanceWindow,
  endMaintenance,
  type NewWindow,
  updateMaintenanceWindow,
} from '@tocsin/db/maintenance-windows/write-windows';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { dispatchStatusChanges } from '@tocsin/db/status-changes/dispatch-status-changes';
import { sql } from 'drizzle-orm';
import {
  checkOf,
  editMonitor,
  failureOf,
  makeMonitor,
  readClock,
  untilWaiting,
  useTestContext,
} from './harness.ts';
import { end, tick, WINDOW } from './maintenance-harness.ts';

const context = await useTestContext();
const { db, accountId, actor } = context;

beforeEach(async () => {
  await db.execute(sql`truncate monitors, channels, maintenance_windows, status_changes, deliveries cascade`);
});

const SHOP: Selector = { matchLabels: { app: 'shop' } };
const LABELED: Selector = { matchExpressions: [{ key: 'app', operator: 'Exists' }] };

async function makeSelecting(
  selector: Selector | null,
  more: { monitorIds?: string[]; events?: WebhookEvent[] } = {},
): Promise<string> {
  const url = 'https://hooks.example/a';
  const fields = { name: 'ops', url, monitorIds: [], selector, ...more };
  return (await createChannel(context, actor, fields)).id;
}

function relabel(id: string, labels: Labels): Promise<unknown> {
  return editMonitor(context, id, { labels: { ...labels } });
}

/** Makes a monitor fail, and returns the channels and events of its deliveries. */
async function alertsOf(monitorId: string): Promise<string[]> {
  await recordChecks(db, [failureOf(monitorId)]);
  await dispatchStatusChanges(db, { limit: 100 });
  const { rows } = await db.execute<{ alert: string }>(sql`
    select channel_id || ' ' || event as alert from deliveries where monitor_id = ${monitorId} order by timestamp`);
  return rows.map(({ alert }) => alert);
}

async function countAssignments(): Promise<number> {
  const { rows } = await db.execute<{ count: number }>(sql`
    select ((select count(*) from channel_monitors) + (select count(*) from maintenance_window_monitors))::int as count`);
  return rows[0]?.count ?? Number.NaN;
}

const alertsFor = (id: string): string[] => [`${id} monitor.down`, `${id} incident.created`];

describe('a channel with a selector receives the alerts', () => {
  test('of monitors that match when they are created, before and after it', async () => {
    const before = await makeMonitor(context, { labels: { app: 'shop' } });
    const id = await makeSelecting(SHOP);
    const after = await makeMonitor(context, { labels: { app: 'shop', tier: 'web' } });
    const other = await makeMonitor(context, { labels: { app: 'blog' } });
    expect(await alertsOf(before.id)).toEqual(alertsFor(id));
    expect(await alertsOf(after.id)).toEqual(alertsFor(id));
    expect(await alertsOf(other.id)).toEqual([]);
    expect(await getChannel(db, accountId, id)).toMatchObject({ monitorIds: [], selector: SHOP });
  });

  test('of monitors that match after an update, but not of those that no longer match', async () => {
    const gained = await makeMonitor(context);
    const lost = await makeMonitor(context, { labels: { app: 'shop' } });
    const id = await makeSelecting(SHOP);
    await relabel(gained.id, { app: 'shop' });
    await relabel(lost.id, {});
    expect(await alertsOf(gained.id)).toEqual(alertsFor(id));
    expect(await alertsOf(lost.id)).toEqual([]);
  });

  test('of the monitors that its new selector matches', async () => {
    const [shop, blog] = [
      await makeMonitor(context, { labels: { app: 'shop' } }),
      await makeMonitor(context, { labels: { app: 'blog' } }),
    ];
    const id = await makeSelecting(SHOP);
    await updateChannel(context, actor, id, { selector: { matchLabels: { app: 'blog' } } });
    expect([await alertsOf(shop.id), await alertsOf(blog.id)]).toEqual([[], alertsFor(id)]);
    await updateChannel(context, actor, id, { selector: null });
    const later = await makeMonitor(context, { labels: { app: 'blog' } });
    expect(await alertsOf(later.id)).toEqual([]);
  });

  test('of listed monitors, whether or not they match', async () => {
    const both = await makeMonitor(context, { labels: { app: 'shop' } });
    const listed = await makeMonitor(context);
    const id = await makeSelecting(SHOP, { monitorIds: [both.id, listed.id] });
    await relabel(both.id, {});
    expect(await alertsOf(both.id)).toEqual(alertsFor(id));
    expect(await alertsOf(listed.id)).toEqual(alertsFor(id));
    const matched = await makeMonitor(context, { labels: { app: 'shop' } });
    await updateChannel(context, actor, id, { monitorIds: [] });
    expect(await alertsOf(matched.id)).toEqual(alertsFor(id));
    expect((await getChannel(db, accountId, id)).monitorIds).toEqual([]);
  });
});

test('a channel that selects everything has no row for each monitor, until it selects less', async () => {
  const before = await makeMonitor(context, { labels: { app: 'shop' } });
  const [empty, all] = [await makeSelecting({ matchExpressions: [] }), await makeSelecting(LABELED)];
  await updateChannel(context, actor, all, { allMonitors: true });
  const after = await makeMonitor(context);
  expect(await countAssignments()).toBe(0);
  for (const { id } of [before, after]) {
    expect((await alertsOf(id)).toSorted()).toEqual([...alertsFor(empty), ...alertsFor(all)].toSorted());
  }
  await updateChannel(context, actor, empty, { selector: SHOP });
  await updateChannel(context, actor, all, { allMonitors: false });
  expect(await countAssignments()).toBe(2);
  await updateChannel(context, actor, empty, { selector: {} });
  await deleteChannel(db, actor, all);
  expect(await countAssignments()).toBe(0);
});

test('an account cannot have more assignments than its quota', async () => {
  await makeMonitor(context, { labels: { app: 'shop' } });
  const id = await makeSelecting(SHOP);
  const limited = jest.replaceProperty(LIMITS, 'assignments', 1 as never);
  try {
    const refused = { code: 'quota_exceeded', quota: { quota: 'assignments', limit: 1, used: 2 } };
    await expect(makeMonitor(context, { labels: { app: 'shop' } })).rejects.toMatchObject(refused);
    await expect(makeSelecting(LABELED)).rejects.toMatchObject(refused);
    await makeSelecting({});
    await updateChannel(context, actor, id, { selector: LABELED });
    expect(await countAssignments()).toBe(1);
  } finally {
    limited.restore();
  }
});

test('an account above its quota may remove assignments, but add none', async () => {
  const ids: string[] = [];
  for (let count = 0; count < 3; count += 1) ids.push((await makeMonitor(context)).id);
  const { id } = await createChannel(context, actor, {
    name: 'c',
    url: 'https://a.example',
    monitorIds: ids,
  });
  const limited = jest.replaceProperty(LIMITS, 'assignments', 1 as never);
  try {
    await updateChannel(context, actor, id, { monitorIds: ids.slice(1) });
    const refused = { code: 'quota_exceeded', quota: { quota: 'assignments', limit: 1, used: 3 } };
    await expect(updateChannel(context, actor, id, { monitorIds: ids })).rejects.toMatchObject(refused);
  } finally {
    limited.restore();
  }
});

test('a channel receives only the events of its filter', async () => {
  const { id: monitorId } = await makeMonitor(context, { labels: { app: 'shop' } });
  const all = await makeSelecting(SHOP);
  const some = await makeSelecting(SHOP, { events: ['incident.created'] });
  await makeSelecting(SHOP, { events: ['monitor.up'] });
  expect((await alertsOf(monitorId)).toSorted()).toEqual(
    [...alertsFor(all), `${some} incident.created`].toSorted(),
  );
  // No filter includes an event of this status change.
  const { id: other } = await makeMonitor(context, { labels: { app: 'blog' } });
  await makeSelecting({ matchLabels: { app: 'blog' } }, { events: ['monitor.up'] });
  await recordChecks(db, [failureOf(other)]);
  expect(await dispatchStatusChanges(db, { limit: 100 })).toMatchObject({ statusChanges: 0 });
});

describe('a maintenance window with a selector covers', () => {
  const covered = async (): Promise<string[]> => {
    await tick(context);
    const { rows } = await db.execute<{ name: string }>(
      sql`select name from monitors where status = 'MAINTENANCE' order by name`,
    );
    return rows.map(({ name }) => name);
  };

  async function start(scope: Partial<NewWindow>): Promise<string> {
    const { maintenanceWindow } = await createMaintenanceWindow(context, actor, {
      ...WINDOW,
      startsAt: new Date((await readClock(context)) - 1),
      endsAt: new Date(Date.now() + 3_600_000),
      ...scope,
    });
    return maintenanceWindow.id;
  }

  test('no monitors that an ended window still lists', async () => {
    const { id: monitorId } = await makeMonitor(context, { labels: { app: 'shop' } });
    const id = await start({ selector: SHOP });
    await end(context, id);
    const left = { windowId: id, monitorId, listed: false, matched: true };
    await db.insert(maintenanceWindowMonitors).values(left);
    await deleteFinished(db, 90);
    expect(await countAssignments()).toBe(0);
  });

  test.each<Partial<NewWindow>>([{ allMonitors: true }, { selector: { matchLabels: {} } }])(
    'every monitor with %j, without a row for each, and only until it ends',
    async (scope) => {
      await makeMonitor(context, { name: 'a' });
      const id = await start(scope);
      await makeMonitor(context, { name: 'b' });
      expect(await covered()).toEqual(['a', 'b']);
      expect(await countAssignments()).toBe(0);
      await end(context, id);
      expect(await covered()).toEqual([]);
      const { rows } = await db.execute(
        sql`select outcome from maintenance_occurrences where window_id = ${id}`,
      );
      expect(rows).toEqual([{ outcome: 'completed' }]);
    },
  );

  test('monitors that begin to match while it runs', async () => {
    const { id: shop } = await makeMonitor(context, { name: 'shop', labels: { app: 'shop' } });
    const { id: blog } = await makeMonitor(context, { name: 'blog', labels: { app: 'blog' } });
    const id = await start({ selector: SHOP });
    expect(await covered()).toEqual(['shop']);
    await makeMonitor(context, { name: 'new', labels: { app: 'shop' } });
    await relabel(blog, { app: 'shop' });
    await relabel(shop, {});
    expect(await covered()).toEqual(['blog', 'new']);
    await updateMaintenanceWindow({ db }, actor, id, { selector: null, monitorIds: [shop] });
    expect(await covered()).toEqual(['shop']);
    await settleMaintenance(db, await deleteMaintenanceWindow(db, actor, id));
    expect(await covered()).toEqual([]);
  });

  test.each(['by itself', 'by a user'])('no monitors after it has ended %s', async (how) => {
    const { id: listed } = await makeMonitor(context, { name: 'a', labels: { app: 'shop' } });
    await makeMonitor(context, { name: 'b', labels: { app: 'shop' } });
    const id = await start({ selector: SHOP, monitorIds: [listed] });
    expect(await covered()).toEqual(['a', 'b']);
    if (how === 'by itself') await end(context, id);
    else await endMaintenance(db, actor, id);
    expect(await covered()).toEqual([]);
    const { rows } = await db.execute(
      sql`select monitor_id, listed from maintenance_window_monitors where window_id = ${id}`,
    );
    expect(rows).toEqual([{ monitor_id: listed, listed: true }]);
  });

  test('the monitors that its next occurrence matches, after labels changed in between', async () => {
    const { id: monitorId } = await makeMonitor(context, { name: 'a', labels: { app: 'shop' } });
    const id = await start({ selector: SHOP });
    await endMaintenance(db, actor, id);
    await relabel(monitorId, {});
    await makeMonitor(context, { name: 'b', labels: { app: 'shop' } });
    const startsAt = new Date((await readClock(context)) - 1);
    const endsAt = new Date(startsAt.getTime() + 3_600_000);
    await updateMaintenanceWindow({ db }, actor, id, { startsAt, endsAt });
    expect(await covered()).toEqual(['b']);
  });
});

describe('locks', () => {
  /** Starts operations while a transaction holds a lock, so that each waits for it or for an earlier one. @returns how they ended */
  async function startHolding(
    lock: (tx: Transaction) => Promise<unknown>,
    operations: readonly (() => Promise<unknown>)[],
    meanwhile: () => Promise<void> = async () => undefined,
  ): Promise<PromiseSettledResult<unknown>[]> {
    const started: Promise<unknown>[] = [];
    await db.transaction(async (tx) => {
      await lock(tx);
      for (const operation of operations) {
        const running = operation();
        running.catch(() => undefined);
        started.push(running);
        await untilWaiting(context, started.length);
      }
      await meanwhile();
    });
    return Promise.allSettled(started);
  }

  test('a channel that no longer lists a monitor, but selects it, does not deadlock with its deletion', async () => {
    const labels = { app: 'shop' };
    const [first, deleted] = [await makeMonitor(context, { labels }), await makeMonitor(context, { labels })];
    const id = await makeSelecting(null, { monitorIds: [deleted.id] });
    const results = await startHolding(
      (tx) => tx.execute(sql`select from monitors where id = ${first.id} for update`),
      [
        () => updateChannel(context, actor, id, { monitorIds: [], selector: SHOP }),
        () => deleteMonitor(db, actor, deleted.id),
      ],
    );
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
    expect(await getChannel(db, accountId, id)).toMatchObject({ monitorIds: [], selector: SHOP });
  });

  test.each([
    ['labels', { labels: { app: 'shop' } }],
    ['source', { source: 'shop' }],
  ])('an update of the %s that waits for other assignments does not delay results', async (_name, update) => {
    const { id } = await makeMonitor(context);
    const results = await startHolding(
      (tx) => lockAssignments(tx, accountId, 'exclusive'),
      [() => editMonitor(context, id, update)],
      async () => {
        expect(await recordChecks(db, [checkOf(id)])).toMatchObject([{ kind: 'recorded' }]);
      },
    );
    expect(results).toMatchObject([{ status: 'fulfilled', value: { changed: true } }]);
  });
});
