import { afterAll, describe, expect, test } from '@jest/globals';
import {
  type MonitorSet,
  type MonitorSetEntry,
  monitorSetEntrySchema,
} from '@tocsin/contracts/monitor-sets/monitor-set';
import type { Actor } from '@tocsin/db/audit-log/actor';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { type AppliedSet, applySet } from '@tocsin/db/monitor-sets/apply-set';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { getMonitor } from '@tocsin/db/monitors/read-monitors';
import { updateMonitor } from '@tocsin/db/monitors/update-monitors';
import { sql } from 'drizzle-orm';
import { checkOf, editMonitor, makeMonitor, openTestContext, untilWaiting } from './harness.ts';

const context = await openTestContext();
const { db, actor } = context;
afterAll(() => context.close());

const entry = (externalId: string, fields: Partial<MonitorSetEntry> = {}): MonitorSetEntry =>
  monitorSetEntrySchema.parse({ externalId, name: externalId, url: 'https://shop.example', ...fields });

function apply(
  source: string,
  monitors: readonly MonitorSetEntry[],
  options: Partial<MonitorSet> = {},
): Promise<AppliedSet> {
  const set = { source, monitors: [...monitors], prune: false, dryRun: false, ...options };
  return applySet(context, actor, set, 'default');
}

/** Reads the monitors of a source with their regions and running spans. */
async function stateOf(source: string) {
  interface State extends Record<string, unknown> {
    external_id: string;
    interval_seconds: number;
    revision: number;
    regions: string[];
    spans: string[];
  }
  const { rows } = await db.execute<State>(sql`
    select m.external_id, m.interval_seconds, m.revision,
      array(select r.region from monitor_regions r where r.monitor_id = m.id order by 1) as regions,
      array(select s.region || ' ' || s.interval_seconds from schedule_spans s
        where s.monitor_id = m.id and s.ends_at is null order by 1) as spans
    from monitors m where m.source = ${source} order by m.external_id`);
  return rows;
}

const entries = (names: readonly string[], fields: Partial<MonitorSetEntry> = {}): MonitorSetEntry[] =>
  names.map((name) => entry(name, fields));

const named = (count: number, prefix: string): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${String(index).padStart(4, '0')}`);

test('a set larger than one batch is created and updated completely', async () => {
  const names = named(510, 'whole');
  const headers = { 'X-Name': 'whole' };
  await apply('whole', entries(names, { headers, regions: ['a', 'b'] }));
  const made = await stateOf('whole');
  expect(made).toHaveLength(510);
  expect(new Set(made.map((row) => JSON.stringify([row.regions, row.spans, row.revision])))).toEqual(
    new Set(['[["a","b"],["a 60","b 60"],1]']),
  );
  const { result, schedules } = await apply(
    'whole',
    entries(names, { headers, regions: ['b', 'c'], interval: 30, assertions: {} }),
  );
  expect(result.updated).toHaveLength(510);
  expect(new Set(result.updated.map(({ fields }) => fields.join()))).toEqual(
    new Set(['interval,assertions,regions']),
  );
  expect(schedules.map(({ regions }) => regions)).toEqual(names.map(() => ['b', 'c']));
  expect(new Set((await stateOf('whole')).map((row) => JSON.stringify([row.regions, row.spans])))).toEqual(
    new Set(['[["b","c"],["b 30","c 30"]]']),
  );
});

test('concurrent sets of one source create each monitor once, and the last set wins', async () => {
  const names = named(40, 'crowd');
  const sets = Array.from({ length: 6 }, (_, call) =>
    apply('crowd', entries(names, { interval: 10 + call }), { prune: true }),
  );
  const applied = await Promise.all(sets);
  expect(applied.map(({ result }) => result.created.length).toSorted((one, other) => one - other)).toEqual([
    0, 0, 0, 0, 0, 40,
  ]);
  const after = await stateOf('crowd');
  expect(after.map((row) => row.external_id)).toEqual(names);
  expect(new Set(after.map((row) => row.interval_seconds)).size).toBe(1);
});

test('of two sources with the same new externalIds, one gets all of them and the other a conflict, without a deadlock', async () => {
  const names = named(60, 'rival');
  const settled = await Promise.allSettled([
    apply('rival-1', entries(names)),
    apply('rival-2', entries(names.toReversed())),
  ]);
  expect(settled.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  const [refused] = settled.flatMap((result) =>
    result.status === 'rejected' ? [result.reason as unknown] : [],
  );
  expect(refused).toMatchObject({ code: 'conflict' });
  const counts = [(await stateOf('rival-1')).length, (await stateOf('rival-2')).length];
  expect(counts.toSorted((one, other) => one - other)).toEqual([0, 60]);
});

test('concurrent sets, updates, deletes and checks all complete, and the next set restores its monitors', async () => {
  const names = named(30, 'storm');
  const wanted = entries(names, { interval: 20 });
  await apply('storm', entries(names));
  const { rows } = await db.execute<{ id: string }>(
    sql`select id from monitors where source = 'storm' order by md5(external_id)`,
  );
  const others = rows.flatMap(({ id }, index) => [
    editMonitor(context, id, { interval: 30 + index }).catch(isGone),
    ...(index % 5 === 0 ? [deleteMonitor(db, actor, id).catch(isGone)] : []),
    recordChecks(db, [checkOf(id)]),
  ]);
  await Promise.all([
    apply('storm', wanted, { prune: true }),
    apply('storm', wanted.slice(10), { prune: true }),
    ...others,
  ]);
  await apply('storm', wanted, { prune: true });
  expect((await stateOf('storm')).map((row) => [row.external_id, row.interval_seconds, row.spans])).toEqual(
    names.map((name) => [name, 20, ['default 20']]),
  );
});

function isGone(error: unknown): void {
  expect(error).toMatchObject({ code: 'not_found' });
}

test('a set whose session ends halfway leaves nothing, and the next one completes', async () => {
  const names = named(20, 'half');
  await apply('half', [entry('half-0000')]);
  await db.execute(sql`
    create function end_session() returns trigger language plpgsql as
    $$ begin perform pg_terminate_backend(pg_backend_pid()); return new; end $$`);
  await db.execute(sql`
    create trigger half before insert on schedule_spans execute function end_session()`);
  const wanted = entries(names, { interval: 15 });
  await expect(apply('half', wanted)).rejects.toThrow();
  expect(await stateOf('half')).toMatchObject([{ external_id: 'half-0000', interval_seconds: 60 }]);
  await db.execute(sql`drop trigger half on schedule_spans`);
  expect((await apply('half', wanted)).result).toMatchObject({
    created: { length: 19 },
    updated: { length: 1 },
  });
});

describe('a key that is bound to sources', () => {
  const bound: Actor = { ...actor, sources: ['shop'] };

  /** Starts a change while another request, not yet committed, moves the monitor to another source. */
  async function changeWhileMoved(id: string, change: () => Promise<unknown>): Promise<unknown> {
    let changed: Promise<unknown> = Promise.resolve();
    await db.transaction(async (tx) => {
      await editMonitor({ ...context, db: tx }, id, { source: 'billing' });
      changed = change();
      changed.catch(() => undefined);
      await untilWaiting(context, 1);
    });
    return changed;
  }

  test.each([
    ['update', (id: string) => updateMonitor(context, bound, id, { name: 'New' }, 'default')],
    ['delete', (id: string) => deleteMonitor(db, bound, id)],
  ])('a monitor that leaves the sources of a key during its %s stays', async (_, change) => {
    const { id } = await makeMonitor(context, { source: 'shop' });
    const changed = changeWhileMoved(id, () => change(id));
    await expect(changed).rejects.toMatchObject({ code: 'source_not_allowed' });
    const { monitor } = await getMonitor(context, context.viewer, id);
    expect(monitor).toMatchObject({ name: 'Shop', source: 'billing' });
  });

  test('a monitor that leaves the source of a set while the set prunes it stays', async () => {
    const { id } = await makeMonitor(context, { source: 'shop' });
    const set = { source: 'shop', monitors: [], prune: true, dryRun: false };
    const applied = await changeWhileMoved(id, () => applySet(context, bound, set, 'default'));
    expect(applied).toMatchObject({ result: { changed: false } });
    expect((await getMonitor(context, context.viewer, id)).monitor.source).toBe('billing');
  });
});
