import { describe, expect, test } from '@jest/globals';
import { until } from '@tocsin/embedded/testing/until';
import {
  acceptAll,
  check,
  createGate,
  MISSING_PARTITION,
  recorded,
  recorderOn,
  urgentCheck,
} from '../testing/test-recorder.ts';
import { RecorderClosedError } from './recorder.ts';

describe('Recorder', () => {
  test('results at the same moment share a batch of at most 500', async () => {
    const { recorder, batches } = recorderOn(acceptAll);
    const ids = Array.from({ length: 1_200 }, (_, index) => String(index));
    await Promise.all(ids.map((id) => recorder.record(check(id))));
    expect(batches.map((batch) => batch.length)).toEqual([500, 500, 200]);
    expect(batches.flat()).toEqual(ids);
  });

  test('a result settles only after its batch was committed, and a slow batch delays only later results of its own monitors', async () => {
    let isSettled = false;
    const { opened, open } = createGate();
    const { recorder, batches } = recorderOn(async (ids, call) => {
      if (call === 1) await opened;
      return acceptAll(ids);
    });
    const first = recorder.record(check('slow')).then(() => (isSettled = true));
    await until('the first batch', () => batches.length === 1);
    const later = recorder.record(check('slow'));
    await recorder.record(check('other'));
    expect([batches, isSettled]).toEqual([[['slow'], ['other']], false]);
    open();
    await Promise.all([first, later]);
    expect(batches).toEqual([['slow'], ['other'], ['slow']]);
  });

  test('at most four batches are written at a time, and all of them end before the recorder closes', async () => {
    const { opened, open } = createGate();
    const { recorder, batches } = recorderOn(async (ids) => {
      await opened;
      return acceptAll(ids);
    });
    const ids = Array.from({ length: 3_000 }, (_, index) => String(index));
    const results = ids.map((id) => recorder.record(check(id)));
    await until('four batches', () => batches.length === 4);
    const closing = recorder.close();
    expect(batches).toHaveLength(4);
    open();
    await closing;
    expect(await Promise.all(results)).toHaveLength(3_000);
    expect(batches).toHaveLength(6);
  });

  test('results of busy monitors do not delay results of other monitors', async () => {
    let isLocked = true;
    const { recorder } = recorderOn((ids) =>
      ids.map((id) => (isLocked && id.startsWith('busy') ? { kind: 'busy' } : recorded)),
    );
    const waiting = Array.from({ length: 1_100 }, (_, index) => recorder.record(check(`busy-${index}`)));
    const others = Array.from({ length: 600 }, (_, index) => recorder.record(check(`other-${index}`)));
    await Promise.all(others);
    isLocked = false;
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([recorded]));
  });

  test('results of one monitor are recorded in order, even while it is busy', async () => {
    const seen: string[] = [];
    const { recorder } = recorderOn((ids, call, checks) => {
      expect(new Set(ids).size).toBe(ids.length);
      return checks.map(({ monitorId, slot }) => {
        if (call <= 2 && monitorId === 'a') return { kind: 'busy' };
        seen.push(`${monitorId}${slot}`);
        return recorded;
      });
    });
    const results = [1, 2, 3].flatMap((slot) => ['a', 'b'].map((id) => ({ ...check(id), slot })));
    await Promise.all(results.map((one) => recorder.record(one)));
    expect(seen.filter((one) => one.startsWith('a'))).toEqual(['a1', 'a2', 'a3']);
    expect(seen.filter((one) => one.startsWith('b'))).toEqual(['b1', 'b2', 'b3']);
    expect(seen.indexOf('b1')).toBeLessThan(seen.indexOf('a1'));
  });

  test('results wait while the database is unavailable, and are recorded afterwards', async () => {
    const { recorder, batches } = recorderOn((ids, call) =>
      call <= 2 ? new Error('connection terminated') : acceptAll(ids),
    );
    expect(await recorder.record(check('a'))).toEqual(recorded);
    expect(batches).toHaveLength(3);
  });

  test('a missing partition is created, and the batch recorded', async () => {
    let made = 0;
    const { recorder } = recorderOn((ids) => (made === 0 ? MISSING_PARTITION : acceptAll(ids)), {
      ensurePartitions: async () => void (made += 1),
    });
    expect(await recorder.record(check('a'))).toEqual(recorded);
    expect(made).toBe(1);
  });

  test('closing abandons a query that hangs and a monitor that stays busy', async () => {
    const { recorder: hanging } = recorderOn(() => new Promise(() => undefined));
    const { recorder: busy } = recorderOn((ids) => ids.map(() => ({ kind: 'busy' })));
    const pending = [hanging, busy].map((recorder) =>
      expect(recorder.record(check('a'))).rejects.toThrow(RecorderClosedError),
    );
    hanging.abandon();
    busy.abandon();
    await Promise.all([hanging.close(), busy.close(), ...pending]);
  });

  test('a result that arrives in the same turn in which another settled is recorded too', async () => {
    const { recorder } = recorderOn(acceptAll);
    let last = recorder.record(urgentCheck('a'));
    for (let hops = 0; hops < 20; hops += 1) {
      await last;
      for (let hop = 0; hop < hops; hop += 1) await Promise.resolve();
      last = recorder.record(urgentCheck('b'));
    }
    expect(await last).toEqual(recorded);
  });

  test('closing abandons an unavailable database, so that the jobs return to the queue', async () => {
    const { recorder } = recorderOn(() => new Error('connection refused'), { closePatienceMs: 50 });
    const pending = expect(recorder.record(check('a'))).rejects.toThrow(RecorderClosedError);
    await recorder.close();
    await pending;
  });
});
