import { describe, expect, test } from '@jest/globals';
import type { CheckRecord } from '@tocsin/db/checks/check-record';
import { until } from '@tocsin/embedded/testing/until';
import {
  acceptAll,
  MISSING_PARTITION,
  recorded,
  recorderOn,
  sqlError,
  urgentCheck,
} from '../testing/test-recorder.ts';
import { RecorderClosedError } from './recorder.ts';

/** Makes a check that counts how often its monitor is read. A loop that never yields ends with an error. */
function countedCheck(monitorId: string): { check: CheckRecord; looks: () => number } {
  let looks = 0;
  const counted = {
    get monitorId() {
      looks += 1;
      if (looks > 10_000) throw new Error('the result was looked at 10,000 times');
      return monitorId;
    },
  };
  return { check: counted as CheckRecord, looks: () => looks };
}

describe('Recorder', () => {
  test('one refused result does not affect others', async () => {
    const { recorder, batches } = recorderOn((ids) =>
      ids.includes('bad') ? sqlError('22021') : acceptAll(ids),
    );
    const ids = ['a', 'b', 'c', 'bad', 'd', 'e', 'f'];
    const results = await Promise.allSettled(ids.map((id) => recorder.record(urgentCheck(id))));
    expect(results.map((result) => result.status)).toEqual(
      ids.map((id) => (id === 'bad' ? 'rejected' : 'fulfilled')),
    );
    expect(batches.length).toBeLessThanOrEqual(7);
    expect(recorder.stalled).toBe(false);
  });

  test.each([
    ['with SQLSTATE P0001', sqlError('P0001')],
    ['with SQLSTATE XX001', sqlError('XX001')],
    ['with SQLSTATE 42P10', sqlError('42P10')],
    ['for lack of a partition', MISSING_PARTITION],
    ['by our code', new RangeError('invalid time')],
  ])(
    'a result that is always refused %s is dropped after a few tries, and delays no other',
    async (_, error) => {
      const refused: string[] = [];
      const { recorder, batches } = recorderOn((ids) => (ids.includes('bad') ? error : acceptAll(ids)), {
        onRefused: () => refused.push('bad'),
      });
      const ids = ['a', 'b', 'c', 'bad', 'd', 'e', 'f'];
      const bad = recorder.record(urgentCheck('bad'));
      bad.catch(() => undefined);
      const others = ids.filter((id) => id !== 'bad');
      await Promise.all(others.map((id) => recorder.record(urgentCheck(id))));
      expect(refused).toEqual([]);
      // From now on the result is written alone, so that others are recorded at the first try.
      const before = batches.length;
      await recorder.record(urgentCheck('a'));
      expect(batches.slice(before).filter((batch) => batch.includes('a'))).toEqual([['a']]);
      await expect(bad).rejects.toThrow(error.message);
      expect([refused, recorder.stalled]).toEqual([['bad'], false]);
    },
  );

  test.each(['57014', '55P03', '40001', '40P01'])(
    'a result that fails with SQLSTATE %s is never dropped, however often',
    async (code) => {
      let isRefused = true;
      let alone = 0;
      const { recorder } = recorderOn((ids) => {
        if (ids.includes('bad') && ids.length === 1) alone += 1;
        return isRefused && ids.includes('bad') ? sqlError(code) : acceptAll(ids);
      });
      const bad = recorder.record(urgentCheck('bad'));
      bad.catch(() => undefined);
      for (let index = 0; index < 7; index += 1) await recorder.record(urgentCheck(`other-${index}`));
      await until('it was tried often', () => alone > 7);
      await recorder.record(urgentCheck('other'));
      isRefused = false;
      expect(await bad).toEqual(recorded);
    },
  );

  test('others are recorded while a result that times out is tried alone, with a short time limit', async () => {
    const { recorder, batches, limits } = recorderOn((ids) => {
      if (!ids.includes('slow')) return acceptAll(ids);
      return ids.length === 1 ? new Promise(() => undefined) : sqlError('57014');
    });
    const others = ['a', 'b', 'c'].map((id) => recorder.record(urgentCheck(id)));
    const slow = recorder.record(urgentCheck('slow'));
    await until('the slow result is tried alone', () => batches.some((ids) => ids.join() === 'slow'));
    await Promise.all(others);
    await Promise.all(['d', 'e', 'f'].map((id) => recorder.record(urgentCheck(id))));
    expect(recorder.stalled).toBe(false);
    const limitsOf = batches.map((ids, index) => [ids.join(), limits[index]]);
    expect(limitsOf).toEqual(
      expect.arrayContaining([
        ['a,b,c,slow', undefined],
        ['slow', 1_000],
        ['d,e,f', undefined],
      ]),
    );
    recorder.abandon();
    await expect(slow).rejects.toThrow(RecorderClosedError);
    await recorder.close();
  });

  test.each([
    ['in front of the others', (index: number) => index < 40],
    ['all over the batch', (index: number) => index % 2 === 0],
  ])('many refused results, %s, do not affect others', async (_, isBad) => {
    const ids = Array.from({ length: 80 }, (__, index) => (isBad(index) ? `bad-${index}` : `good-${index}`));
    const { recorder } = recorderOn((batch) =>
      batch.some((id) => id.startsWith('bad')) ? sqlError('P0001') : acceptAll(batch),
    );
    const results = ids.map((id) => recorder.record(urgentCheck(id)));
    for (const result of results) result.catch(() => undefined);
    const good = results.filter((__, index) => !isBad(index));
    expect(new Set(await Promise.all(good))).toEqual(new Set([recorded]));
    recorder.abandon();
    await recorder.close();
  });

  test('a later result of a monitor waits for the refused one', async () => {
    const seen: (number | null)[] = [];
    let isRefused = true;
    const { recorder } = recorderOn((ids, _call, checks) => {
      if (isRefused && ids.includes('a')) return sqlError('40001');
      seen.push(...checks.filter(({ monitorId }) => monitorId === 'a').map(({ slot }) => slot));
      return acceptAll(ids);
    });
    const of = (slot: number): CheckRecord => ({ ...urgentCheck('a'), slot });
    const results = [recorder.record(of(1)), recorder.record(urgentCheck('b')), recorder.record(of(2))];
    await results[1];
    results.push(recorder.record(of(3)));
    isRefused = false;
    await Promise.all(results);
    expect(seen).toEqual([1, 2, 3]);
  });

  test('results that wait for the quarantine are not polled continuously', async () => {
    const { recorder, batches } = recorderOn(
      (ids, call) => (call <= 2 ? sqlError(call === 1 ? '57014' : '55P03') : acceptAll(ids)),
      { refusedWaitMs: 100 },
    );
    const first = recorder.record(urgentCheck('a'));
    const later = countedCheck('a');
    await Promise.all([first, recorder.record(later.check)]);
    expect(batches).toHaveLength(4);
    expect(later.looks()).toBeLessThan(30);
  });

  test('if Postgres refuses every result, none is dropped', async () => {
    let isRefused = true;
    const { recorder, batches } = recorderOn((ids) => (isRefused ? sqlError('42P01') : acceptAll(ids)));
    const results = Array.from({ length: 40 }, (_, index) => recorder.record(urgentCheck(String(index))));
    await until('every result was tried more than once', () => batches.length > 30);
    expect(recorder.stalled).toBe(true);
    isRefused = false;
    expect(new Set(await Promise.all(results))).toEqual(new Set([recorded]));
    expect(recorder.stalled).toBe(false);
  });

  test('a result that is refused while there are no others is not dropped before others are recorded', async () => {
    const { recorder, batches } = recorderOn((ids) =>
      ids.includes('bad') ? sqlError('P0001') : acceptAll(ids),
    );
    const bad = recorder.record(urgentCheck('bad'));
    bad.catch(() => undefined);
    await until('it was tried often', () => batches.length > 10);
    await recorder.record(urgentCheck('a'));
    await expect(bad).rejects.toThrow('refused');
  });

  test('a monitor is no longer suspected once one of its results is recorded', async () => {
    let isRefused = true;
    const { recorder, batches } = recorderOn((ids) =>
      isRefused && ids.includes('a') ? sqlError('P0001') : acceptAll(ids),
    );
    const results = ['a', 'b'].map((id) => recorder.record(urgentCheck(id)));
    await results[1];
    isRefused = false;
    await Promise.all(results);
    await Promise.all(['a', 'b'].map((id) => recorder.record(urgentCheck(id))));
    expect(batches.at(-1)).toEqual(['a', 'b']);
  });

  test('a missing partition during the search for a refused result does not drop any other result', async () => {
    let made = 0;
    const { recorder } = recorderOn(
      (ids) => {
        if (ids.includes('bad')) return sqlError('22021');
        return made === 0 && ids.includes('new') ? MISSING_PARTITION : acceptAll(ids);
      },
      { ensurePartitions: async () => void (made += 1) },
    );
    const results = ['bad', 'new'].map((id) => recorder.record(urgentCheck(id)));
    expect((await Promise.allSettled(results)).map(({ status }) => status)).toEqual([
      'rejected',
      'fulfilled',
    ]);
    expect([made, recorder.stalled]).toEqual([1, false]);
  });

  test('closing rejects a result that waits for the quarantine, while a partition is created', async () => {
    let finish: (() => void) | undefined;
    const { recorder } = recorderOn((ids) => (ids.length > 1 ? sqlError('57014') : MISSING_PARTITION), {
      ensurePartitions: () => new Promise((resolve) => (finish = resolve)),
    });
    const isolated = ['a', 'b'].map((id) => recorder.record(urgentCheck(id)));
    await until('a partition is made', () => finish !== undefined);
    const pending = [...isolated, recorder.record(countedCheck('a').check)].map((result) =>
      expect(result).rejects.toThrow(RecorderClosedError),
    );
    recorder.abandon();
    const closed = recorder.close();
    setImmediate(() => finish?.());
    await Promise.all([closed, ...pending]);
  });
});
