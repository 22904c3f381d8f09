import { beforeEach, describe, expect, test } from '@jest/globals';
import { slotOffsetMs, type Wave, waveOf } from '@tocsin/core/schedule/slots';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { migrate } from '@tocsin/db/database/migrate';
import { countRegionMonitors } from '@tocsin/db/monitor-regions/read-regions';
import { alignDefaultRegion, alignSpans } from '@tocsin/db/monitor-regions/schedule-spans';
import {
  listRetriedMembers,
  listUnappliedSchedules,
  listWaveMembers,
  listWaves,
  markScheduled,
} from '@tocsin/db/monitor-regions/schedules';
import { scheduleSpans } from '@tocsin/db/monitor-regions/table';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { updateMonitor } from '@tocsin/db/monitors/update-monitors';
import { asc, eq, sql } from 'drizzle-orm';
import {
  checkOf,
  copyMonitor,
  editMonitor,
  makeMonitor,
  refuseRows,
  untilWaiting,
  useTestContext,
} from './harness.ts';

const context = await useTestContext();
const { db, actor } = context;

beforeEach(() => db.execute(sql`delete from monitors`));

describe('waves', () => {
  /** Lists the ids of a wave's monitors. @param slot excludes monitors with a result for this slot */
  async function membersOf(region: string, wave: Wave, slot?: number): Promise<string[]> {
    const [members = []] = await listWaveMembers(db, region, [wave], slot);
    return members.map(({ monitorId }) => monitorId).toSorted();
  }

  /** Creates two monitors in the same wave. At most 101 are needed, because there are 100 offsets. */
  async function makePair(): Promise<readonly [string, string, Wave]> {
    const known = new Map<number, string>();
    for (let index = 0; index < 101; index += 1) {
      const { id } = await makeMonitor(context, { interval: 5 });
      const wave = waveOf(id, 5);
      const other = known.get(wave.offsetMs);
      if (other !== undefined) return [other, id, wave];
      known.set(wave.offsetMs, id);
    }
    throw new Error('101 monitors have 101 of 100 phases');
  }

  test('each of several waves has the monitors of its interval and offset, with their revisions', async () => {
    const [one, other, wave] = await makePair();
    await editMonitor(context, other, { name: 'Other', url: 'https://other.example' });
    const empty = { ...wave, offsetMs: wave.offsetMs + 1 };
    const [before, members, after] = await listWaveMembers(db, 'default', [empty, wave, empty]);
    expect([before, after]).toEqual([[], []]);
    const revisions = members?.map(({ monitorId, revision }) => [monitorId, revision] as const);
    expect(new Map(revisions)).toEqual(new Map([[one, 1]]).set(other, 2));
    expect(await membersOf('default', { ...wave, intervalSeconds: 6 })).toEqual([]);
    expect(await membersOf('other', wave)).toEqual([]);
  });

  test('a repeated slot leaves out monitors with a result of this slot in this region', async () => {
    const [one, other, wave] = await makePair();
    const slot = wave.offsetMs + 5_000_000;
    const recorded = async (id: string, region: string): Promise<unknown> =>
      db.execute(sql`update monitor_regions set recent_slots = array[1, ${slot}, 2]::bigint[]
      where monitor_id = ${id} and region = ${region}`);
    const unrecorded = (of: number): Promise<string[]> => membersOf('default', wave, of);
    expect(await unrecorded(slot)).toEqual([one, other].toSorted());
    await recorded(one, 'default');
    expect(await unrecorded(slot)).toEqual([other]);
    expect(await unrecorded(slot + 5_000)).toEqual([one, other].toSorted());
    expect(await membersOf('default', wave)).toEqual([one, other].toSorted());
    await editMonitor(context, other, { regions: ['default', 'far'] });
    await recorded(other, 'far');
    expect(await unrecorded(slot)).toEqual([other]);
  });

  test('a repeated slot has the retries of unconfirmed recorded failures', async () => {
    const { id } = await makeMonitor(context, { failureThreshold: 2, retryInterval: 10 });
    const wave = waveOf(id, 60);
    const slot = wave.offsetMs + 6_000_000;
    const fail = async (count: number, at: number): Promise<unknown> =>
      db.execute(sql`update monitor_regions set consecutive_failures = ${count}, recent_slots = array[${slot}, ${at}]::bigint[]
      where monitor_id = ${id}`);
    const retried = (region = 'default') => listRetriedMembers(db, region, wave, slot);
    await fail(1, slot);
    expect([await retried(), await retried('other')]).toEqual([
      [{ monitorId: id, revision: 1, intervalSeconds: 60, retryIntervalSeconds: 10 }],
      [],
    ]);
    for (const [count, at] of [
      [0, slot],
      [2, slot],
      [1, slot + 10_000],
    ] as const) {
      await fail(count, at);
      expect(await retried()).toEqual([]);
    }
    await fail(1, slot);
    await editMonitor(context, id, { retryInterval: null });
    expect(await retried()).toEqual([]);
  });

  test('a monitor that changes regions is checked only in the new region', async () => {
    const { id } = await makeMonitor(context, { regions: ['a', 'b'] });
    await editMonitor(context, id, { regions: ['b', 'c'] });
    const wave = waveOf(id, 60);
    expect(await Promise.all(['a', 'b', 'c'].map((region) => membersOf(region, wave)))).toEqual([
      [],
      [id],
      [id],
    ]);
    expect(await listWaves(db)).toEqual(
      new Map([
        ['b', [wave]],
        ['c', [wave]],
      ]),
    );
  });

  test('a wave is listed once for all its monitors that are not deleted, and optionally for one region', async () => {
    const [one, other, wave] = await makePair();
    const far = await makeMonitor(context, { regions: ['far'], interval: 3_600 });
    const all = await listWaves(db);
    expect([...all.keys()].toSorted()).toEqual(['default', 'far']);
    const same = ({ offsetMs, intervalSeconds }: Wave): boolean =>
      offsetMs === wave.offsetMs && intervalSeconds === 5;
    expect(all.get('default')?.filter(same)).toEqual([wave]);
    expect(await listWaves(db, 'far')).toEqual(new Map([['far', [waveOf(far.id, 3_600)]]]));
    expect(await listWaves(db, 'none')).toEqual(new Map());
    await deleteMonitor(db, actor, one);
    expect(await membersOf('default', wave)).toEqual([other]);
    await deleteMonitor(db, actor, other);
    expect((await listWaves(db)).get('default') ?? []).not.toContainEqual(wave);
  });

  async function unapplied(): Promise<(readonly [monitorId: string, revision: number])[]> {
    const schedules = await listUnappliedSchedules(db, 10);
    return schedules.map(({ monitorId, revision }) => [monitorId, revision]);
  }

  test('schedules are applied again after each change of their monitor', async () => {
    const { id: monitorId } = await makeMonitor(context);
    const { id: other } = await makeMonitor(context);
    await markScheduled(db, [{ monitorId: other, region: 'default', revision: 1 }]);
    expect(await unapplied()).toEqual([[monitorId, 1]]);
    await markScheduled(db, [{ monitorId, region: 'default', revision: 1 }]);
    expect(await unapplied()).toEqual([]);
    await editMonitor(context, monitorId, { interval: 120 });
    expect(await unapplied()).toEqual([[monitorId, 2]]);
    await markScheduled(db, [{ monitorId, region: 'default', revision: 1 }]);
    expect(await unapplied()).toEqual([[monitorId, 2]]);
    await markScheduled(db, [{ monitorId, region: 'default', revision: 2 }]);
  });
});

type Span = typeof scheduleSpans.$inferSelect;

function spansOf(id: string): Promise<Span[]> {
  return db
    .select()
    .from(scheduleSpans)
    .where(eq(scheduleSpans.monitorId, id))
    .orderBy(asc(scheduleSpans.startsAt), asc(scheduleSpans.region));
}

/** Lists each span as `region/interval`, followed by `…` while it runs. */
async function outline(id: string): Promise<string[]> {
  return (await spansOf(id)).map(
    ({ region, intervalSeconds, endsAt }) => `${region}/${intervalSeconds}${endsAt === null ? '…' : ''}`,
  );
}

describe('schedule spans', () => {
  test('a new monitor has one in each region, with the offset of its schedule', async () => {
    const { id } = await makeMonitor(context, { interval: 30, regions: ['a', 'b'] });
    const own = { endsAt: null, intervalSeconds: 30, offsetMs: slotOffsetMs(id, 30_000) };
    expect(await spansOf(id)).toMatchObject(['a', 'b'].map((region) => ({ region, ...own })));
    expect(await outline((await makeMonitor(context)).id)).toEqual(['default/60…']);
  });

  test('a new interval ends one and starts the next at the same millisecond', async () => {
    const { id } = await makeMonitor(context);
    await editMonitor(context, id, { interval: 20 });
    const spans = await spansOf(id);
    expect(spans).toMatchObject([
      { intervalSeconds: 60 },
      { intervalSeconds: 20, offsetMs: slotOffsetMs(id, 20_000), endsAt: null, startsAt: spans[0]?.endsAt },
    ]);
  });

  test('spans of removed regions end, those of new regions start, and the others continue', async () => {
    const { id } = await makeMonitor(context, { regions: ['a', 'b'] });
    await editMonitor(context, id, { regions: ['b', 'c'] });
    expect(await outline(id)).toEqual(['a/60', 'b/60…', 'c/60…']);
    await editMonitor(context, id, { regions: ['a', 'b', 'c'] });
    expect(await outline(id)).toEqual(['a/60', 'b/60…', 'c/60…', 'a/60…']);
  });

  test('other edits, or another order of regions, change no span', async () => {
    const { id } = await makeMonitor(context, { regions: ['a', 'b'] });
    const before = await spansOf(id);
    await editMonitor(context, id, { url: 'https://other.example', regions: ['b', 'a'], interval: 60 });
    expect(await spansOf(id)).toEqual(before);
  });

  test('concurrent changes leave no overlap and no second running span', async () => {
    const { id } = await makeMonitor(context);
    await Promise.all([5, 6, 7, 8, 9, 10].map((interval) => editMonitor(context, id, { interval })));
    const spans = await spansOf(id);
    expect(spans).toHaveLength(7);
    spans.forEach((span, index) => expect(span.endsAt).toEqual(spans[index + 1]?.startsAt ?? null));
  });

  test('a clock that steps back causes no overlap', async () => {
    const { id } = await makeMonitor(context);
    const future = new Date(Date.now() + 60_000);
    await db.update(scheduleSpans).set({ startsAt: future });
    await editMonitor(context, id, { interval: 20 });
    const [first, second] = await spansOf(id);
    expect(first?.endsAt?.getTime()).toBe(future.getTime() + 1);
    expect(second?.startsAt).toEqual(first?.endsAt);
  });

  test('an edit after a change of the default region moves the monitor too', async () => {
    const { id } = await makeMonitor(context);
    await updateMonitor(context, actor, id, { name: 'Other' }, 'other');
    expect(await outline(id)).toEqual(['default/60', 'other/60…']);
  });
});

describe('alignSpans', () => {
  test('creates the missing span of each monitor, and none twice', async () => {
    const [{ id }, known] = [await makeMonitor(context, { interval: 5 }), await makeMonitor(context)];
    const before = await spansOf(known.id);
    await db.delete(scheduleSpans).where(eq(scheduleSpans.monitorId, id));
    await migrate(context.url);
    await migrate(context.url);
    expect(await spansOf(id)).toMatchObject([{ intervalSeconds: 5, offsetMs: slotOffsetMs(id, 5_000) }]);
    expect(await spansOf(known.id)).toEqual(before);
  });

  test('repairs spans with another interval, offset or other regions than their monitor', async () => {
    const { id } = await makeMonitor(context, { regions: ['a', 'b'] });
    await db.execute(sql`update monitors set interval_seconds = 30`);
    await db.execute(sql`update monitor_regions set region = 'c' where region = 'b'`);
    expect(await alignSpans(db)).toBe(1);
    expect(await outline(id)).toEqual(['a/60', 'b/60', 'a/30…', 'c/30…']);
    await db.execute(sql`update schedule_spans set phase_ms = 12345 where ends_at is null and region = 'a'`);
    expect(await alignSpans(db)).toBe(1);
    expect(await listWaves(db, 'a')).toEqual(new Map([['a', [waveOf(id, 30)]]]));
    expect(await alignSpans(db)).toBe(0);
  });

  test('repairs more monitors than one transaction handles', async () => {
    await copyMonitor(context, (await makeMonitor(context)).id, 1_000);
    await db.delete(scheduleSpans);
    expect(await alignSpans(db)).toBe(1_001);
    const { rows } = await db.execute(sql`select count(distinct phase_ms)::int as n from schedule_spans`);
    expect(rows[0]?.['n']).toBeGreaterThan(600);
  });

  test('skips a locked monitor until the next call', async () => {
    const { id } = await makeMonitor(context);
    await db.delete(scheduleSpans);
    await db.transaction(async (tx) => {
      await tx.execute(sql`select from monitors where id = ${id} for no key update`);
      expect(await alignSpans(db)).toBe(0);
    });
    expect(await alignSpans(db)).toBe(1);
    expect(await outline(id)).toEqual(['default/60…']);
  });
});

describe('a new default region', () => {
  async function countRegions(): Promise<Record<string, number>> {
    return Object.fromEntries(await countRegionMonitors(db, null));
  }

  test('moves all monitors without regions, and no others', async () => {
    const { id } = await makeMonitor(context);
    await makeMonitor(context, { regions: ['default', 'eu'] });
    await copyMonitor(context, id, 1_200);
    expect(await alignDefaultRegion(db, 'ap')).toBe(1_201);
    expect(await outline(id)).toEqual(['default/60', 'ap/60…']);
    expect(await countRegions()).toEqual({ ap: 1_201, default: 1, eu: 1 });
    expect(await alignDefaultRegion(db, 'ap')).toBe(0);
  });

  test('waits for a locked monitor before it changes its regions', async () => {
    const { id } = await makeMonitor(context);
    let aligning: Promise<number> | undefined;
    await db.transaction(async (holder) => {
      await holder.execute(sql`select from monitors where id = ${id} for no key update`);
      aligning = alignDefaultRegion(db, 'ap');
      await untilWaiting(context, 1);
      expect(await countRegions()).toEqual({ default: 1 });
    });
    expect(await aligning).toBe(1);
    const [outcome] = await recordChecks(db, [checkOf(id, { region: 'ap' })]);
    expect(outcome).toMatchObject({ kind: 'recorded' });
  });

  test('moves the others if Postgres refuses one, and repairs the spans of the others', async () => {
    const { id } = await makeMonitor(context);
    await copyMonitor(context, id, 2);
    const accept = await refuseRows(context, 'schedule_spans', `new.monitor_id = '${id}'`);
    const refused: string[] = [];
    const onRefused = (record: { id: string }) => refused.push(record.id);
    expect(await alignDefaultRegion(db, 'ap', onRefused)).toBe(2);
    expect(await countRegions()).toEqual({ ap: 2, default: 1 });
    await db.execute(sql`update monitors set interval_seconds = 30`);
    expect(await alignSpans(db, onRefused)).toBe(2);
    expect(refused).toEqual([id, id]);
    await accept();
    expect(await alignDefaultRegion(db, 'ap', onRefused)).toBe(1);
  });

  test('skips a monitor that gets its own regions in the meantime', async () => {
    const { id } = await makeMonitor(context);
    let aligning: Promise<number> | undefined;
    await db.transaction(async (tx) => {
      await editMonitor({ ...context, db: tx }, id, { regions: ['eu'] });
      aligning = alignDefaultRegion(db, 'ap');
      await untilWaiting(context, 1);
    });
    expect(await aligning).toBe(0);
    expect(await countRegions()).toEqual({ eu: 1 });
  });
});
