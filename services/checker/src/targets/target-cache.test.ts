import { expect, test } from '@jest/globals';
import type { CheckTarget } from '@tocsin/db/monitors/check-targets';
import { TargetCache, type TargetSource } from './target-cache.ts';

function cacheOf(
  revisions: Map<string, number>,
  now: () => number = () => 0,
): { cache: TargetCache; loads: string[][] } {
  const loads: string[][] = [];
  const load: TargetSource['load'] = async (ids) => {
    loads.push([...ids]);
    return new Map(
      ids.flatMap((id) => {
        const revision = revisions.get(id);
        return revision === undefined
          ? []
          : [[id, { monitorId: id, revision, intervalSeconds: 5 } as CheckTarget]];
      }),
    );
  };
  const cache = new TargetCache({ load, readRevisions: async () => revisions }, now);
  return { cache, loads };
}

test('a monitor is read once per revision', async () => {
  const revisions = new Map([['a', 1]]);
  const { cache, loads } = cacheOf(revisions);
  await Promise.all([cache.get('a', 1), cache.get('a', 1)]);
  expect(await cache.get('a', 1)).toMatchObject({ revision: 1 });
  revisions.set('a', 2);
  expect(await cache.get('a', 2)).toMatchObject({ revision: 2 });
  // A job from before the change gets the newer monitor.
  expect(await cache.get('a', 1)).toMatchObject({ revision: 2 });
  expect(loads).toEqual([['a'], ['a']]);
});

test('the latest monitor is loaded only if it has changed', async () => {
  const revisions = new Map([['a', 1]]);
  const { cache, loads } = cacheOf(revisions);
  expect(await cache.latest('a')).toMatchObject({ revision: 1 });
  expect(await cache.latest('a')).toMatchObject({ revision: 1 });
  revisions.set('a', 2);
  expect(await cache.latest('a')).toMatchObject({ revision: 2 });
  revisions.delete('a');
  expect([await cache.latest('a'), cache.size]).toEqual([null, 0]);
  expect(loads).toEqual([['a'], ['a']]);
});

test('a deleted monitor and an evicted one are read again', async () => {
  const revisions = new Map([['a', 1]]);
  const { cache, loads } = cacheOf(revisions);
  expect(await cache.get('x', 1)).toBeNull();
  revisions.set('x', 1);
  expect(await cache.get('x', 1)).toMatchObject({ monitorId: 'x' });
  await cache.get('a', 1);
  cache.evict('a');
  await cache.get('a', 1);
  expect(loads).toEqual([['x'], ['x'], ['a'], ['a']]);
});

test('a failed load rejects all its callers, and the next call loads again', async () => {
  let fails = true;
  const load: TargetSource['load'] = async (ids) => {
    if (fails) throw new Error('database unavailable');
    return new Map(ids.map((id) => [id, { monitorId: id, revision: 1 } as CheckTarget]));
  };
  const cache = new TargetCache({ load, readRevisions: async () => new Map() });
  await expect(Promise.all([cache.get('a', 1), cache.get('b', 1)])).rejects.toThrow('database unavailable');
  fails = false;
  expect(await cache.get('a', 1)).toMatchObject({ monitorId: 'a' });
});

test('monitors without checks are forgotten, and others are kept', async () => {
  let now = 0;
  const revisions = new Map<string, number>();
  const { cache, loads } = cacheOf(revisions, () => now);
  for (let minute = 0; minute < 100; minute += 1) {
    now = minute * 60_000;
    for (const id of ['kept', `deleted ${minute}`]) {
      revisions.set(id, 1);
      await cache.get(id, 1);
    }
  }
  expect(cache.size).toBeLessThan(5);
  expect(loads.flat().filter((id) => id === 'kept')).toHaveLength(1);
});
