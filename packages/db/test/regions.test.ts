import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { loadCanaries, readRegionNetworks, setCanaries } from '@tocsin/db/regions/canaries';
import {
  deleteIsolation,
  endIsolation,
  type Isolation,
  listFinishedIsolations,
  renewIsolation,
} from '@tocsin/db/regions/isolations';
import { listLateRegions } from '@tocsin/db/regions/late-regions';
import { sql } from 'drizzle-orm';
import { makeAccount } from './delivery-steps.ts';
import { editMonitor, makeMonitor, readClock, useTestContext } from './harness.ts';

const context = await useTestContext();
const { db, accountId, actor } = context;

beforeEach(() => db.execute(sql`truncate monitors, region_isolations cascade`));

const set = (region: string, ids: readonly string[]): Promise<void> => setCanaries(db, actor, region, ids);
const canariesOf = async (region: string, account = accountId): Promise<string[]> =>
  (await loadCanaries(context, account, region)).map(({ monitorId }) => monitorId).toSorted();

describe('canaries', () => {
  test('are replaced as a whole, and loaded with what a checker needs to probe them', async () => {
    const headers = { Authorization: 'Bearer one' };
    const { id } = await makeMonitor(context, { regions: ['eu', 'us'], headers });
    const other = await makeMonitor(context, { regions: ['eu'] });
    await set('us', [id]);
    await set('eu', [other.id]);
    await set('eu', [id]);
    expect(await loadCanaries(context, accountId, 'eu')).toMatchObject([
      { monitorId: id, accountId, headers },
    ]);
    expect(await canariesOf('us')).toEqual([id]);
    // A canary that cannot be probed proves nothing.
    await db.execute(sql`update monitors set sealed_headers = '{"Authorization":"lost"}'`);
    expect(await loadCanaries(context, accountId, 'eu')).toEqual([]);
  });

  test('must be monitors of the account that the region checks, or nothing changes', async () => {
    const other = { ...context, accountId: await makeAccount(context) };
    const stranger = await makeMonitor(other, { regions: ['eu'] });
    const here = await makeMonitor(context, { regions: ['eu'] });
    const elsewhere = await makeMonitor(context, { regions: ['us'] });
    await set('eu', [here.id]);
    const unknown = randomUUID();
    await expect(set('eu', [here.id, stranger.id, elsewhere.id, unknown])).rejects.toMatchObject({
      code: 'validation_failed',
      errors: [1, 2, 3].map((index) => ({ path: `canaryMonitorIds.${index}` })),
    });
    expect(await canariesOf('eu')).toEqual([here.id]);
    expect(await canariesOf('eu', other.accountId)).toEqual([]);
  });

  test('stop counting when their region no longer checks them, and count again when it does', async () => {
    const { id } = await makeMonitor(context, { regions: ['eu'] });
    await set('eu', [id]);
    const moveTo = (region: string): Promise<unknown> => editMonitor(context, id, { regions: [region] });
    await moveTo('us');
    expect([await canariesOf('eu'), (await readRegionNetworks(db, accountId)).size]).toEqual([[], 0]);
    await moveTo('eu');
    expect([await canariesOf('eu'), (await readRegionNetworks(db, accountId)).size]).toEqual([[id], 1]);
  });

  test('disappear with their monitors, even while they are set', async () => {
    for (let round = 0; round < 5; round += 1) {
      const [kept, gone] = await Promise.all([
        makeMonitor(context, { regions: ['eu'] }),
        makeMonitor(context, { regions: ['eu'] }),
      ]);
      await set('eu', [kept.id]);
      const [written] = await Promise.allSettled([
        set('eu', [kept.id, gone.id]),
        deleteMonitor(db, actor, gone.id),
      ]);
      if (written.status === 'rejected') expect(written.reason).toMatchObject({ code: 'validation_failed' });
      expect(await canariesOf('eu')).toEqual([kept.id]);
    }
  });

  test('are never a mixture of two requests', async () => {
    const monitors = await Promise.all(
      Array.from({ length: 4 }, () => makeMonitor(context, { regions: ['eu'] })),
    );
    const ids = monitors.map(({ id }) => id).toSorted();
    const lists = [ids.slice(0, 2), ids.slice(2), ids.slice(1, 3)];
    await Promise.all(lists.map((list) => set('eu', list)));
    expect(lists).toContainEqual(await canariesOf('eu'));
  });
});

const checkers = [randomUUID(), randomUUID()];
const isolationOf = (fields: Partial<Isolation> = {}): Isolation => ({
  accountId,
  region: 'eu',
  checkerId: checkers[0] ?? '',
  ageMs: 0,
  ...fields,
});
const renew = (fields?: Partial<Isolation>): Promise<void> => renewIsolation(db, isolationOf(fields));
const end = (fields?: Partial<Isolation>): Promise<void> => endIsolation(db, isolationOf(fields));
/** Makes all reports older. */
const age = (seconds: number): Promise<unknown> =>
  db.execute(sql`
    update region_isolations set since = since - make_interval(secs => ${seconds}),
      renewed_at = renewed_at - make_interval(secs => ${seconds}), ended_at = ended_at - make_interval(secs => ${seconds})`);
const finished = (): ReturnType<typeof listFinishedIsolations> => listFinishedIsolations(db);

describe('isolations', () => {
  beforeEach(async () => {
    const { id } = await makeMonitor(context, { regions: ['eu', 'us'] });
    await set('eu', [id]);
    await set('us', [id]);
  });

  const healths = async (): Promise<Record<string, string>> =>
    Object.fromEntries(
      [...(await readRegionNetworks(db, accountId))].map(([region, { health }]) => [region, health]),
    );
  const since = async (): Promise<number> =>
    Date.parse((await readRegionNetworks(db, accountId)).get('eu')?.since ?? '');

  test('isolate one region of one account while any checker renews them', async () => {
    expect(await healths()).toEqual({ eu: 'connected', us: 'connected' });
    await renew();
    await renew({ checkerId: checkers[1] ?? '' });
    expect(await healths()).toEqual({ eu: 'isolated', us: 'connected' });
    await end();
    expect(await healths()).toEqual({ eu: 'isolated', us: 'connected' });
    expect(await finished()).toEqual([]);
    await end({ checkerId: checkers[1] ?? '' });
    expect(await healths()).toEqual({ eu: 'connected', us: 'connected' });
    expect(await finished()).toMatchObject([{ accountId, region: 'eu' }]);
  });

  test('do not count in a region without canaries', async () => {
    await renew();
    await set('eu', []);
    expect(await healths()).toEqual({ us: 'connected' });
  });

  test('count from the first report until 20 seconds after the last one', async () => {
    const before = await readClock(context);
    await renew({ ageMs: 60_000 });
    const first = await since();
    expect(first).toBeGreaterThanOrEqual(Math.floor(before) - 60_000);
    expect(first).toBeLessThanOrEqual((await readClock(context)) - 60_000);
    await age(19);
    await renew({ ageMs: 79_500 });
    expect(await since()).toBe(first - 19_000);
    await age(20);
    expect(await healths()).toEqual({ eu: 'connected', us: 'connected' });
    // Checks follow from the time when the checker was considered dead.
    const [expired] = await finished();
    expect(expired?.finishedAt).toBeGreaterThanOrEqual(before);
    expect(expired?.finishedAt).toBeLessThanOrEqual(await readClock(context));
  });

  test('begin again after they have ended, and may end without a report of their beginning', async () => {
    await renew({ ageMs: 60_000 });
    await end();
    await renew();
    expect(await since()).toBeGreaterThan((await readClock(context)) - 60_000);
    await end();
    await db.execute(sql`truncate region_isolations`);
    await end({ ageMs: 5_000 });
    expect(await finished()).toHaveLength(1);
  });

  test('are deleted as they were listed, so that a report in the meantime stays', async () => {
    await renew();
    await end();
    await end({ region: 'us' });
    const [eu, us] = await finished();
    if (eu === undefined || us === undefined) throw new Error('both regions must be listed');
    expect([eu.region, us.region]).toEqual(['eu', 'us']);
    await age(1);
    await renew();
    await deleteIsolation(db, eu);
    expect(await healths()).toEqual({ eu: 'isolated', us: 'connected' });
    await end();
    expect(await finished()).toHaveLength(2);
    for (const each of await finished()) await deleteIsolation(db, each);
    expect(await finished()).toEqual([]);
  });
});

describe('a region is late', () => {
  /** Creates a monitor with an hourly check. The arguments are the ages of its last slot, last result and start in seconds. */
  async function plan(slotAge: number, resultAge: number | null, startAge = 7_200, timeout = 10) {
    const { id } = await makeMonitor(context, { interval: 3_600, timeout, regions: ['eu'] });
    const slot = (await readClock(context)) - slotAge * 1_000;
    await db.execute(sql`
      update schedule_spans set phase_ms = ${Math.floor(slot) % 3_600_000}::int,
        starts_at = now() - make_interval(secs => ${startAge}) where monitor_id = ${id}`);
    await db.execute(sql`
      update monitor_regions set last_checked_at = now() - make_interval(secs => ${resultAge})
      where monitor_id = ${id}`);
    return Math.floor(slot);
  }

  test('since its oldest due check, if nothing was recorded since', async () => {
    await plan(-600, 900);
    await plan(21, 1_000);
    // The checks of this monitor cannot be recorded.
    await plan(1_500, null);
    const since = await plan(600, null);
    const late = await listLateRegions(db);
    expect([...late.keys()]).toEqual(['eu']);
    expect(late.get('eu')).toMatchObject({ since, lateMs: expect.closeTo(600_000, -6) });
  });

  test.each<[string, Parameters<typeof plan>[]]>([
    [
      'another monitor was checked',
      [
        [600, 700],
        [300, 0],
      ],
    ],
    ['no check was due', [[600, 599]]],
    ['the check may still run', [[30, 100, 7_200, 60]]],
    ['the monitor is new', [[600, 600, 500]]],
    ['nothing has ever served it', [[600, null]]],
  ])('but not if %s', async (_, plans) => {
    for (const one of plans) await plan(...one);
    expect(await listLateRegions(db)).toEqual(new Map());
  });

  test('only after the time that a check may last, with canaries before and after its probe', async () => {
    const { id } = await makeMonitor(context, { interval: 3_600, timeout: 10, regions: ['eu'] });
    // Within a transaction, the clock stands still.
    await db.transaction(async (tx) => {
      await tx.execute(sql`
        update monitor_regions set last_checked_at = now() - interval '1 minute' where monitor_id = ${id}`);
      const isLateAfter = async (slotAge: number): Promise<boolean> => {
        await tx.execute(sql`
          update schedule_spans set starts_at = now() - interval '2 hours',
            phase_ms = (floor(extract(epoch from now()) * 1000)::bigint - ${slotAge * 1_000}::int) % 3600000
          where monitor_id = ${id}`);
        return (await listLateRegions(tx)).has('eu');
      };
      expect([await isLateAfter(24), await isLateAfter(25)]).toEqual([false, true]);
    });
  });

  test('even if a result has a much later time than now, but not while the clock catches up', async () => {
    await plan(600, -7_200);
    expect((await listLateRegions(db)).size).toBe(1);
    await plan(600, -60);
    expect((await listLateRegions(db)).size).toBe(0);
  });
});
