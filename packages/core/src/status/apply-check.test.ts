import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { applyCheck, type CheckVerdict, type MonitorState, type RegionState } from './apply-check.ts';

const NOW = 1_800_000_000_000;

const monitor: MonitorState = {
  status: 'UP',
  probeRevision: 1,
  failureThreshold: 1,
  intervalSeconds: 60,
  timeoutSeconds: 10,
};

const region: RegionState = {
  region: 'eu',
  consecutiveFailures: 0,
  lastResultAt: null,
  since: NOW,
  recentSlots: [],
  lastLatencyMs: null,
  lastErrorReason: null,
};

const down: CheckVerdict = {
  region: 'eu',
  revision: 1,
  slot: NOW,
  urlOverride: null,
  status: 'DOWN',
  latencyMs: 0,
  errorReason: 'CONNECTION_REFUSED',
};
const up: CheckVerdict = { ...down, status: 'UP', latencyMs: 12, errorReason: null };

describe('applyCheck', () => {
  test.each<[string, MonitorState['status'], CheckVerdict, 'UP' | 'DOWN' | null]>([
    ['the first check ends PENDING: passing', 'PENDING', up, 'UP'],
    ['the first check ends PENDING: failing', 'PENDING', down, 'DOWN'],
    ['a failure at the threshold', 'UP', down, 'DOWN'],
    ['a recovery', 'DOWN', up, 'UP'],
    ['still up', 'UP', up, null],
    ['still down', 'DOWN', down, null],
    ['maintenance hides a failure', 'MAINTENANCE', down, null],
    ['maintenance hides a recovery', 'MAINTENANCE', up, null],
  ])('%s', (_, status, check, expected) => {
    const effect = applyCheck({ ...monitor, status }, [region], check, NOW);
    expect(effect).toMatchObject({ kind: 'recorded', status: expected });
  });

  test('PENDING ends UP below the threshold', () => {
    const pending: MonitorState = { ...monitor, status: 'PENDING', failureThreshold: 3 };
    expect(applyCheck(pending, [region], down, NOW)).toMatchObject({ status: 'UP' });
  });

  test('a result of a recorded slot is a duplicate, a triggered check never is', () => {
    const seen = { ...region, recentSlots: [NOW] };
    expect(applyCheck(monitor, [seen], down, NOW)).toEqual({ kind: 'duplicate' });
    expect(applyCheck(monitor, [seen], { ...down, slot: null }, NOW)).toMatchObject({ kind: 'recorded' });
  });

  test('a check with a URL override moves nothing', () => {
    const check = { ...down, slot: null, urlOverride: 'https://preview.example' };
    expect(applyCheck({ ...monitor, status: 'PENDING' }, [region], check, NOW)).toEqual({
      kind: 'recorded',
      region: null,
      status: null,
    });
  });

  test('a late result of an older probe moves no status but its slot is remembered', () => {
    const effect = applyCheck({ ...monitor, probeRevision: 2 }, [region], down, NOW);
    expect(effect).toEqual({
      kind: 'recorded',
      region: { ...region, recentSlots: [NOW] },
      status: null,
    });
  });

  test('a result of a region that is not assigned any more is recorded and moves nothing', () => {
    expect(applyCheck(monitor, [], down, NOW)).toEqual({ kind: 'recorded', region: null, status: null });
  });

  test('a failure is counted, a success resets, and the last result is kept', () => {
    const failed = applyCheck(monitor, [{ ...region, consecutiveFailures: 4 }], down, NOW);
    expect(failed).toMatchObject({
      region: { consecutiveFailures: 5, lastResultAt: NOW, lastErrorReason: 'CONNECTION_REFUSED' },
    });
    const passed = applyCheck(monitor, [{ ...region, consecutiveFailures: 4 }], up, NOW);
    expect(passed).toMatchObject({ region: { consecutiveFailures: 0, lastLatencyMs: 12 } });
  });

  test('only the last few slots are remembered', () => {
    const many = { ...region, recentSlots: [1, 2, 3, 4, 5, 6, 7, 8] };
    expect(applyCheck(monitor, [many], down, NOW)).toMatchObject({
      region: { recentSlots: [2, 3, 4, 5, 6, 7, 8, NOW] },
    });
  });

  test('a failing check never recovers a monitor whose streak was reset', () => {
    const strict: MonitorState = { ...monitor, status: 'DOWN', failureThreshold: 3 };
    expect(applyCheck(strict, [region], down, NOW)).toMatchObject({ status: null });
    expect(applyCheck(strict, [region], up, NOW)).toMatchObject({ status: 'UP' });
  });

  test('one region: DOWN exactly while the last `threshold` results failed since it went down', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.boolean(), { minLength: 1, maxLength: 40 }),
        (failureThreshold, results) => {
          let state = region;
          let status: MonitorState['status'] = 'PENDING';
          let streak = 0;
          for (const [index, passed] of results.entries()) {
            const check = { ...(passed ? up : down), slot: NOW + index };
            const effect = applyCheck({ ...monitor, status, failureThreshold }, [state], check, NOW + index);
            if (effect.kind !== 'recorded' || effect.region === null) throw new Error('not recorded');
            state = effect.region;
            status = effect.status ?? status;
            streak = passed ? 0 : streak + 1;
            expect(status).toBe(streak >= failureThreshold ? 'DOWN' : 'UP');
          }
        },
      ),
    );
  });
});
