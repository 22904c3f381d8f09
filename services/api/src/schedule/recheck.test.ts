import { randomUUID } from 'node:crypto';
import { afterEach, expect, test } from '@jest/globals';
import { endIsolation } from '@tocsin/db/regions/isolations';
import { Producers } from '@tocsin/queue/producers';
import { newMonitor } from '../testing/monitors.ts';
import { checkOnce, reconcilerOptions, storedJobs } from '../testing/schedules.ts';
import { useTestApi } from '../testing/test-api.ts';
import { ENQUEUE_WITHIN_MS, useTestQueue } from '../testing/test-queue.ts';
import { Reconciler, type ReconcilerOptions } from './reconciler.ts';

const queue = await useTestQueue();
const api = await useTestApi();
afterEach(async () => {
  await api.database.pool.query('truncate monitors, region_isolations cascade');
  await queue.redis.flushdb();
});

async function reconcile(options: Partial<ReconcilerOptions> = {}): Promise<void> {
  const reconciler = new Reconciler({ ...reconcilerOptions(api, queue), ...options });
  await reconciler.run(new AbortController().signal);
}

type AddExtraChecks = Producers['addExtraChecks'];
const addExtraChecks: AddExtraChecks = (...given) => queue.producers.addExtraChecks(...given);

/** The real producers, with something in place of `addExtraChecks`. */
const addingBy = (add: AddExtraChecks): { producers: Producers } => ({
  producers: Object.assign(new Producers(queue.store, ENQUEUE_WITHIN_MS), { addExtraChecks: add }),
});

async function makeMonitor(fields: Record<string, unknown> = {}): Promise<string> {
  const { id } = await newMonitor(api, { regions: ['eu'], ...fields });
  // A monitor without a result gets a first check.
  await checkOnce(api, id, { region: 'eu' });
  return id;
}

async function giveToOther(id: string): Promise<void> {
  await api.database.pool.query('update monitors set account_id = $1 where id = $2', [api.other.id, id]);
}

const isolationOf = (accountId = api.account.id, region = 'eu') => ({
  accountId,
  region,
  checkerId: randomUUID(),
  ageMs: 0,
});

async function countIsolations(): Promise<number> {
  const { rowCount } = await api.database.pool.query('select from region_isolations');
  return rowCount ?? 0;
}

/** The extra checks of a region, as monitor and slot. */
async function rechecks(region = 'eu'): Promise<{ monitorId: string; slot: number }[]> {
  return (await storedJobs(queue, region)).flatMap((jobId) => {
    const [, monitorId = '', slot = ''] = /^recheck-(.+)-(\d+)$/.exec(jobId) ?? [];
    return monitorId === '' ? [] : [{ monitorId, slot: Number(slot) }];
  });
}
const recheckedMonitors = async (region?: string): Promise<string[]> =>
  (await rechecks(region)).map(({ monitorId }) => monitorId).toSorted();

test('after an isolation, each monitor of the account in the region is checked within 20 s, and not in a burst', async () => {
  const ids = await Promise.all(Array.from({ length: 20 }, () => makeMonitor()));
  await makeMonitor({ interval: 20, timeout: 5 });
  await makeMonitor({ regions: ['us'] });
  await giveToOther(await makeMonitor());
  await endIsolation(api.context.db, isolationOf());
  const { rows } = await api.database.pool.query<{ ended: Date }>(
    'select ended_at as ended from region_isolations',
  );
  const endedAt = rows[0]?.ended.getTime() ?? 0;
  await reconcile();
  const added = await rechecks();
  expect(added.map(({ monitorId }) => monitorId).toSorted()).toEqual(ids.toSorted());
  for (const { slot } of added) {
    expect(slot).toBeGreaterThanOrEqual(endedAt);
    expect(slot).toBeLessThanOrEqual(endedAt + 20_000);
  }
  const slots = added.map(({ slot }) => slot);
  expect(Math.max(...slots) - Math.min(...slots)).toBeGreaterThan(5_000);
  expect(await recheckedMonitors('us')).toEqual([]);
  expect(await countIsolations()).toBe(0);
});

test('an api that crashes after it added the checks adds none twice', async () => {
  const id = await makeMonitor();
  await endIsolation(api.context.db, isolationOf());
  const crashing = addingBy(async (...given) => {
    await addExtraChecks(...given);
    throw new Error('the response is lost');
  });
  await reconcile(crashing);
  expect(await countIsolations()).toBe(1);
  const before = await rechecks();
  expect(before).toMatchObject([{ monitorId: id }]);
  await reconcile();
  expect(await rechecks()).toEqual(before);
  expect(await countIsolations()).toBe(0);
});

test('a region, or an account, whose checks cannot be added does not stop the others', async () => {
  const [one, other] = [await makeMonitor(), await makeMonitor({ regions: ['us'] })];
  await giveToOther(one);
  const failing = await makeMonitor();
  const dead = await makeMonitor({ regions: ['dead'] });
  for (const isolation of [
    isolationOf(),
    isolationOf(api.other.id),
    isolationOf(api.account.id, 'us'),
    isolationOf(api.account.id, 'dead'),
  ]) {
    await endIsolation(api.context.db, isolation);
  }
  const producers = addingBy(async (region, reason, checks) => {
    if (region === 'dead' || checks.some(({ monitorId }) => monitorId === failing))
      throw new Error('refused');
    await addExtraChecks(region, reason, checks);
  });
  for (let run = 0; run < 3; run += 1) await reconcile(producers);
  expect([await recheckedMonitors(), await recheckedMonitors('us')]).toEqual([[one], [other]]);
  expect(await countIsolations()).toBe(2);
  await reconcile();
  expect([await recheckedMonitors(), await recheckedMonitors('dead')]).toEqual([
    [one, failing].toSorted(),
    [dead],
  ]);
  expect(await countIsolations()).toBe(0);
});
