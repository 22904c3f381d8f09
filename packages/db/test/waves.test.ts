import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { type Wave, waveOf } from '@tocsin/core/schedule/slots';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { alignSpans } from '@tocsin/db/monitor-regions/schedule-spans';
import {
  listUnappliedSchedules,
  listWaveMembers,
  listWaves,
  markScheduled,
  unapplyOutdatedSchedules,
} from '@tocsin/db/monitor-regions/schedules';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { updateMonitor } from '@tocsin/db/monitors/update-monitors';
import { sql } from 'drizzle-orm';
import { makeMonitor, openTestContext, type TestContext } from './harness.ts';

let context: TestContext;
beforeAll(async () => {
  context = await openTestContext();
});
afterAll(() => context.close());
beforeEach(async () => {
  await context.db.execute(sql`delete from monitors`);
});

async function membersOf(region: string, wave: Wave): Promise<string[]> {
  return (await listWaveMembers(context.db, region, [wave]))
    .flat()
    .map(({ monitorId }) => monitorId)
    .toSorted();
}

const update = (id: string, fields: Parameters<typeof updateMonitor>[3]): Promise<unknown> =>
  updateMonitor(context, systemActor(context.accountId), id, fields, 'default');

/** Two monitors of one wave: no more are made than needed for two of the 100 phases to be equal. */
async function makePair(): Promise<readonly [string, string, Wave]> {
  const known = new Map<number, string>();
  for (let index = 0; index < 101; index += 1) {
    const { id } = await makeMonitor(context, { interval: 5 });
    const wave = waveOf(id, 5);
    const other = known.get(wave.phaseMs);
    if (other !== undefined) return [other, id, wave];
    known.set(wave.phaseMs, id);
  }
  throw new Error('101 monitors have 101 of 100 phases');
}

test('a wave contains the monitors of its interval and phase, with their revisions', async () => {
  const [one, other, wave] = await makePair();
  await update(other, { name: 'Other', url: 'https://other.example' });
  const [members] = await listWaveMembers(context.db, 'default', [wave]);
  expect(members).toHaveLength(2);
  expect(members).toEqual(
    expect.arrayContaining([
      { monitorId: one, revision: 1 },
      { monitorId: other, revision: 2 },
    ]),
  );
  expect(await membersOf('default', { ...wave, phaseMs: wave.phaseMs + 1 })).toEqual([]);
  expect(await membersOf('default', { ...wave, intervalSeconds: 6 })).toEqual([]);
  expect(await membersOf('other', wave)).toEqual([]);
});

test('the members of several waves come in the order of the waves', async () => {
  const [one, other, wave] = await makePair();
  const empty = { ...wave, phaseMs: wave.phaseMs + 1 };
  const listed = await listWaveMembers(context.db, 'default', [empty, wave, empty]);
  const ids = listed.map((members) => members.map(({ monitorId }) => monitorId).toSorted());
  expect(ids).toEqual([[], [one, other].toSorted(), []]);
});

test('the statement for the members is planned once for waves of any number', async () => {
  const wave: Wave = { intervalSeconds: 60, phaseMs: 0 };
  for (let runs = 1; runs <= 20; runs += 1)
    await listWaveMembers(
      context.db,
      'default',
      Array.from({ length: 1 + (runs % 3) }, () => wave),
    );
  const { rows } = await context.db.execute(sql`
    select sum(generic_plans)::int > 0 as planned_once from pg_prepared_statements where statement like '%w.revision%'`);
  expect(rows).toEqual([{ planned_once: true }]);
});

test('a repeated slot leaves out monitors with a result of this slot in this region', async () => {
  const [one, other, wave] = await makePair();
  const slot = wave.phaseMs + 5_000_000;
  const recorded = async (id: string, region: string): Promise<unknown> =>
    context.db.execute(sql`update monitor_regions set recent_slots = array[1, ${slot}, 2]::bigint[]
      where monitor_id = ${id} and region = ${region}`);
  const unrecorded = async (of: number): Promise<string[]> =>
    (await listWaveMembers(context.db, 'default', [wave], of))
      .flat()
      .map(({ monitorId }) => monitorId)
      .toSorted();
  expect(await unrecorded(slot)).toEqual([one, other].toSorted());
  await recorded(one, 'default');
  expect(await unrecorded(slot)).toEqual([other]);
  expect(await unrecorded(slot + 5_000)).toEqual([one, other].toSorted());
  expect(await membersOf('default', wave)).toEqual([one, other].toSorted());
  await update(other, { regions: ['default', 'far'] });
  await recorded(other, 'far');
  expect(await unrecorded(slot)).toEqual([other]);
});

test('a new interval moves a monitor to another wave at once', async () => {
  const [one, other, wave] = await makePair();
  await update(one, { interval: 60 });
  expect(await membersOf('default', wave)).toEqual([other]);
  expect(await membersOf('default', waveOf(one, 60))).toEqual([one]);
});

test('a monitor that changes regions is checked only in the new region', async () => {
  const { id } = await makeMonitor(context, { regions: ['a', 'b'] });
  await update(id, { regions: ['b', 'c'] });
  const wave = waveOf(id, 60);
  expect(await Promise.all(['a', 'b', 'c'].map((region) => membersOf(region, wave)))).toEqual([
    [],
    [id],
    [id],
  ]);
  expect(await listWaves(context.db)).toEqual(
    new Map([
      ['b', [wave]],
      ['c', [wave]],
    ]),
  );
});

test('a deleted monitor belongs to no wave, and empty waves are not listed', async () => {
  const [one, other, wave] = await makePair();
  await deleteMonitor(context.db, systemActor(context.accountId), one);
  expect(await membersOf('default', wave)).toEqual([other]);
  expect((await listWaves(context.db)).get('default')).toContainEqual(wave);
  await deleteMonitor(context.db, systemActor(context.accountId), other);
  expect(await membersOf('default', wave)).toEqual([]);
  expect((await listWaves(context.db)).get('default') ?? []).not.toContainEqual(wave);
});

test('a wave is listed once for all its monitors, and optionally for one region', async () => {
  const [, , wave] = await makePair();
  const far = await makeMonitor(context, { regions: ['far'], interval: 3_600 });
  const all = await listWaves(context.db);
  expect([...all.keys()].toSorted()).toEqual(['default', 'far']);
  const same = ({ phaseMs, intervalSeconds }: Wave): boolean =>
    phaseMs === wave.phaseMs && intervalSeconds === 5;
  expect(all.get('default')?.filter(same)).toEqual([wave]);
  expect(await listWaves(context.db, 'far')).toEqual(new Map([['far', [waveOf(far.id, 3_600)]]]));
  expect(await listWaves(context.db, 'none')).toEqual(new Map());
});

test("an outdated phase is replaced by the monitor's current phase", async () => {
  const { id } = await makeMonitor(context, { regions: ['a'] });
  await context.db.execute(sql`update schedule_spans set phase_ms = 12345`);
  expect(await alignSpans(context.db)).toBe(1);
  expect(await listWaves(context.db)).toEqual(new Map([['a', [waveOf(id, 60)]]]));
  expect(await alignSpans(context.db)).toBe(0);
});

async function unapplied(): Promise<(readonly [monitorId: string, revision: number])[]> {
  const schedules = await listUnappliedSchedules(context.db, 10);
  return schedules.map(({ monitorId, revision }) => [monitorId, revision]);
}

test('schedules are applied anew after each change of their monitor', async () => {
  const { id: monitorId } = await makeMonitor(context);
  await makeMonitor(context).then(({ id }) =>
    markScheduled(context.db, [{ monitorId: id, region: 'default', revision: 1 }]),
  );
  expect(await unapplied()).toEqual([[monitorId, 1]]);
  await markScheduled(context.db, [{ monitorId, region: 'default', revision: 1 }]);
  expect(await unapplied()).toEqual([]);
  await update(monitorId, { interval: 120 });
  expect(await unapplied()).toEqual([[monitorId, 2]]);
  await markScheduled(context.db, [{ monitorId, region: 'default', revision: 1 }]);
  expect(await unapplied()).toEqual([[monitorId, 2]]);
});

test('a schedule that was left by an earlier version of the service is found', async () => {
  const { id: monitorId } = await makeMonitor(context);
  const { id: other } = await makeMonitor(context);
  await markScheduled(
    context.db,
    [monitorId, other].map((id) => ({ monitorId: id, region: 'default', revision: 1 })),
  );
  await context.db.execute(sql`update monitors set revision = 2 where id = ${monitorId}`);
  await unapplyOutdatedSchedules(context.db);
  expect(await unapplied()).toEqual([[monitorId, 2]]);
});
