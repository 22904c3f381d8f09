import { expect, test } from '@jest/globals';
import { slotOffsetMs } from '../schedule/slots.ts';
import { FAILED, MONITOR, NOW, PASSED, REGION } from '../testing/monitor-states.ts';
import { type CheckResult, decideCheck } from './decide-check.ts';
import { MonitorClock } from './monitor-clock.ts';
import type { MonitorDraft } from './monitor-draft.ts';

const ID = '0194f0c6-0000-7000-8000-000000000000';
const passed: CheckResult = { ...PASSED, statusCode: 200, certificateExpiresAt: new Date(NOW) };
const failed: CheckResult = { ...FAILED, statusCode: 500, certificateExpiresAt: null };

function draftOf(fields: Partial<MonitorDraft> = {}): MonitorDraft {
  return {
    ...MONITOR,
    id: ID,
    clock: new MonitorClock(null, NOW),
    revision: 1,
    regions: [REGION],
    namedRegions: [],
    covered: false,
    retryIntervalSeconds: null,
    errorDetail: null,
    checkedBefore: NOW - 60_000,
    changedSince: false,
    statusBeforeMaintenance: null,
    lastCheckedAt: null,
    change: null,
    isChanged: false,
    ...fields,
  };
}

test.each<[number | null, number[], string, unknown]>([
  [1, [], 'eu', null],
  [2, [1], 'eu', null],
  [6, [1, 2], 'eu', { after: 2, slots: 3 }],
  [5, [2, 6], 'eu', null],
  [null, [2], 'eu', null],
  [30, [2], 'gone', null],
])('planned slots missed before slot %s after %j in %s: %j', (slot, recent, region, expected) => {
  const slotOf = (minute: number): number => NOW + minute * 60_000 + slotOffsetMs(ID, 60_000);
  const monitor = draftOf({ regions: [{ ...REGION, recentSlots: recent.map(slotOf) }] });
  const decided = decideCheck({ ...passed, region, slot: slot === null ? null : slotOf(slot) }, monitor);
  const gap = decided.kind === 'recorded' && decided.gap;
  expect(gap && { after: (gap.after - slotOf(0)) / 60_000, slots: gap.slots }).toEqual(expected);
});

test('a change of the status is announced with its check, unless it ends PENDING', () => {
  const monitor = draftOf();
  decideCheck(failed, monitor);
  expect(monitor).toMatchObject({ status: 'DOWN', lastCheckedAt: NOW, isChanged: true });
  expect(monitor.change).toMatchObject({ from: 'UP', to: 'DOWN', announced: true, region: 'eu' });
  const pending = draftOf({ status: 'PENDING' });
  decideCheck(passed, pending);
  expect(pending.change).toMatchObject({ from: 'PENDING', to: 'UP', announced: false });
});

test('a covered monitor enters maintenance before its check can alert', () => {
  const monitor = draftOf({ covered: true });
  expect(decideCheck(failed, monitor)).toMatchObject({ kind: 'recorded' });
  expect(monitor).toMatchObject({ status: 'MAINTENANCE', statusBeforeMaintenance: 'UP' });
});

test('a result of a paused monitor changes neither its status nor its regions, and never enters maintenance', () => {
  const regions = [{ ...REGION, consecutiveFailures: 1, lastResultAt: NOW - 1_000 }];
  for (const covered of [false, true]) {
    const monitor = draftOf({ enabled: false, covered, regions, failureThreshold: 2, status: 'DOWN' });
    const decided = decideCheck(passed, monitor);
    expect(decided).toMatchObject({
      kind: 'recorded',
      inconclusive: false,
      silence: null,
      needsRetry: false,
    });
    expect(monitor).toMatchObject({ status: 'DOWN', lastCheckedAt: null, change: null });
    const kept = { consecutiveFailures: 1, lastResultAt: NOW - 1_000, recentSlots: [passed.slot] };
    expect(decided).toMatchObject({ regions: [{ state: kept, certificateExpiresAt: null }] });
  }
});

test('a result below the threshold needs a retry, even if it is a duplicate', () => {
  const monitor = draftOf({ failureThreshold: 2 });
  expect(decideCheck(failed, monitor)).toMatchObject({ needsRetry: true, isFirstFailure: true });
  const again = draftOf({
    failureThreshold: 2,
    regions: [{ ...REGION, consecutiveFailures: 1, recentSlots: [NOW] }],
  });
  expect(decideCheck(failed, again)).toEqual({ kind: 'duplicate', needsRetry: true });
  expect(again.isChanged).toBe(false);
});

test('an outdated probe keeps no certificate', () => {
  const monitor = draftOf({ revision: 2, probeRevision: 2 });
  const regions = [{ certificateExpiresAt: null }];
  expect(decideCheck(passed, monitor)).toMatchObject({ outdated: true, regions });
  const late = draftOf({ regions: [{ ...REGION, recentSlots: [NOW + 1] }] });
  expect(decideCheck(passed, late)).toMatchObject({ outdated: false, regions, needsRetry: false });
  expect(decideCheck(passed, draftOf())).toMatchObject({
    regions: [{ certificateExpiresAt: new Date(NOW) }],
  });
});

test.each<[string, Partial<MonitorDraft>, CheckResult, number | null]>([
  ['none in time', {}, passed, null],
  ['none without a count', {}, { ...passed, urlOverride: 'https://preview.example' }, null],
  ['one for the first result', { checkedBefore: null }, passed, 0],
  ['one after a change', { changedSince: true }, passed, 0],
  ['one if the clock was set back', { checkedBefore: NOW + 1 }, passed, 0],
  ['one after more than interval and timeout', { checkedBefore: NOW - 70_001 }, passed, 0],
  ['one that may have waited for proof', { checkedBefore: null }, { ...failed, statusCode: null }, 10_000],
])('possible silences: %s', (_, fields, check, proofMs) => {
  const decided = decideCheck(check, draftOf(fields));
  expect(decided.kind === 'recorded' && (decided.silence?.proofMs ?? null)).toBe(proofMs);
});
