import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  type MonitorSet,
  type MonitorSetEntry,
  monitorSetEntrySchema,
} from '@tocsin/contracts/monitor-sets/monitor-set';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { purgeDeletedMonitors } from '@tocsin/db/deleted-monitors/purge';
import { ensureEventPartitions } from '@tocsin/db/events/partitions';
import { type AppliedSet, applySet } from '@tocsin/db/monitor-sets/apply-set';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { updateMonitor } from '@tocsin/db/monitors/update-monitors';
import { sql } from 'drizzle-orm';
import { checkOf, openTestContext, type TestContext } from './harness.ts';

let context: TestContext;
beforeAll(async () => {
  context = await openTestContext();
});
afterAll(() => context.close());

const entry = (externalId: string, fields: Partial<MonitorSetEntry> = {}): MonitorSetEntry =>
  monitorSetEntrySchema.parse({ externalId, name: externalId, url: 'https://shop.example', ...fields });

function apply(
  source: string,
  monitors: readonly MonitorSetEntry[],
  options: Partial<MonitorSet> = {},
): Promise<AppliedSet> {
  const set = { source, monitors: [...monitors], prune: false, dryRun: false, ...options };
  return applySet(context, systemActor(context.accountId), set, 'default');
}

interface State extends Record<string, unknown> {
  external_id: string;
  interval_seconds: number;
  revision: number;
  regions: string[];
  spans: string[];
}

/** What a source has, with the regions that check it and their running spans. */
async function stateOf(source: string): Promise<State[]> {
  const { rows } = await context.db.execute<State>(sql`
    select m.external_id, m.interval_seconds, m.revision,
      array(select r.region from monitor_regions r where r.monitor_id = m.id order by 1) as regions,
      array(select s.region || ' ' || s.interval_seconds from schedule_spans s
        where s.monitor_id = m.id and s.ends_at is null order by 1) as spans
    from monitors m where m.source = ${source} order by m.external_id`);
  return rows;
}

const named = (count: number, prefix: string): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${String(index).padStart(4, '0')}`);

test('a set larger than one batch is created and updated completely', async () => {
  const names = named(600, 'whole');
  await apply(
    'whole',
    names.map((name) => entry(name, { headers: { 'X-Name': name }, regions: ['a', 'b'] })),
  );
  const made = await stateOf('whole');
  expect(made).toHaveLength(600);
  expect(new Set(made.map((row) => JSON.stringify([row.regions, row.spans, row.revision])))).toEqual(
    new Set(['[["a","b"],["a 60","b 60"],1]']),
  );
  const { result, schedules } = await apply(
    'whole',
    names.map((name) =>
      entry(name, { headers: { 'X-Name': name }, regions: ['b', 'c'], interval: 30, assertions: {} }),
    ),
  );
  expect(result.updated).toHaveLength(600);
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
    apply(
      'crowd',
      names.map((name) => entry(name, { interval: 10 + call })),
      { prune: true },
    ),
  );
  const applied = await Promise.all(sets);
  expect(applied.map(({ result }) => result.created.length).toSorted((one, other) => one - other)).toEqual([
    0, 0, 0, 0, 0, 40,
  ]);
  const after = await stateOf('crowd');
  expect(after.map((row) => row.external_id)).toEqual(names);
  expect(new Set(after.map((row) => row.interval_seconds)).size).toBe(1);
});

test('two sources with the same new externalIds: one gets all of them, the other a conflict, without a deadlock', async () => {
  const names = named(300, 'rival');
  const settled = await Promise.allSettled([
    apply(
      'rival-1',
      names.map((name) => entry(name)),
    ),
    apply(
      'rival-2',
      names.toReversed().map((name) => entry(name)),
    ),
  ]);
  expect(settled.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  const [refused] = settled.flatMap((result) =>
    result.status === 'rejected' ? [result.reason as unknown] : [],
  );
  expect(refused).toMatchObject({ code: 'conflict' });
  const counts = [(await stateOf('rival-1')).length, (await stateOf('rival-2')).length];
  expect(counts.toSorted((one, other) => one - other)).toEqual([0, 300]);
});

test('concurrent sets, updates, deletes and checks all complete, and the next set restores its monitors', async () => {
  const names = named(60, 'storm');
  const wanted = names.map((name) => entry(name, { interval: 20 }));
  await apply(
    'storm',
    names.map((name) => entry(name)),
  );
  const { rows } = await context.db.execute<{ id: string }>(
    sql`select id from monitors where source = 'storm' order by md5(external_id)`,
  );
  const others = rows.flatMap(({ id }, index) => [
    updateMonitor(context, systemActor(context.accountId), id, { interval: 30 + index }, 'default').catch(
      isGone,
    ),
    ...(index % 5 === 0 ? [deleteMonitor(context.db, systemActor(context.accountId), id).catch(isGone)] : []),
    recordChecks(context.db, [checkOf(id)]),
  ]);
  await Promise.all([
    apply('storm', wanted, { prune: true }),
    apply('storm', wanted.slice(20), { prune: true }),
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
  const names = named(200, 'half');
  await apply('half', [entry('half-0000')]);
  await context.db.execute(sql`
    create function end_session() returns trigger language plpgsql as
    $$ begin perform pg_terminate_backend(pg_backend_pid()); return new; end $$`);
  await context.db.execute(sql`
    create trigger half before insert on schedule_spans execute function end_session()`);
  const wanted = names.map((name) => entry(name, { interval: 15 }));
  await expect(apply('half', wanted)).rejects.toThrow();
  expect(await stateOf('half')).toMatchObject([{ external_id: 'half-0000', interval_seconds: 60 }]);
  await context.db.execute(sql`drop trigger half on schedule_spans`);
  expect((await apply('half', wanted)).result).toMatchObject({
    created: { length: 199 },
    updated: { length: 1 },
  });
});

test('the history of pruned monitors is deleted in small steps; that of others stays', async () => {
  await ensureEventPartitions(context.db);
  await purgeDeletedMonitors(context.db);
  await apply('purge', [entry('purge-1'), entry('purge-2'), entry('purge-3')]);
  const { rows } = await context.db.execute<{ id: string }>(
    sql`select id from monitors where source = 'purge' order by external_id`,
  );
  const ids = rows.map(({ id }) => id);
  for (let round = 0; round < 7; round += 1)
    for (const id of ids) await recordChecks(context.db, [checkOf(id)]);
  await apply('purge', [entry('purge-2')], { prune: true });
  expect(await purgeDeletedMonitors(context.db, undefined, 3)).toBe(2);
  const { rows: left } = await context.db.execute<{ monitor_id: string; count: number }>(
    sql`select monitor_id, count(*)::int as count from events where monitor_id in ${ids} group by 1`,
  );
  expect(left).toEqual([{ monitor_id: ids[1], count: 7 }]);
  expect(await purgeDeletedMonitors(context.db)).toBe(0);
});
