import { describe, expect, test } from '@jest/globals';
import { eventAt, MONITOR, START } from '../testing/campaign-record.ts';
import { isAmbiguous, RepeatedSlotError, replay } from './replay.ts';

const steps = (changes: ReturnType<typeof replay>): string[] =>
  changes.map(({ from, to, at }) => `${from} ${to} ${(at - START) / 1_000}`);

describe('replay', () => {
  test('counts failures up to the threshold', () => {
    const monitor = { ...MONITOR, plan: { ...MONITOR.plan, failureThreshold: 2 } };
    const events = [eventAt(0, true), eventAt(5, false), eventAt(10, false), eventAt(15, true)];
    expect(steps(replay(monitor, events))).toEqual(['PENDING UP 0.1', 'UP DOWN 10.1', 'DOWN UP 15.1']);
  });

  test('wants a majority of the regions', () => {
    const monitor = { ...MONITOR, plan: { ...MONITOR.plan, regions: ['north', 'south'] as const } };
    const south = { region: 'south' };
    const events = [
      eventAt(0, true),
      eventAt(1, true, south),
      eventAt(5, false),
      eventAt(6, false, south),
      eventAt(10, true),
    ];
    expect(steps(replay(monitor, events))).toEqual(['PENDING UP 0.1', 'UP DOWN 6.1', 'DOWN UP 10.1']);
  });

  test('applies an edit of the threshold at its moment', () => {
    const monitor = {
      ...MONITOR,
      plan: { ...MONITOR.plan, failureThreshold: 3 },
      thresholds: [{ at: START + 7_000, value: 1 }],
    };
    const events = [eventAt(0, true), eventAt(5, false), eventAt(10, false)];
    expect(steps(replay(monitor, events))).toEqual(['PENDING UP 0.1', 'UP DOWN 7']);
  });

  test('leaves checks of another URL out', () => {
    const events = [eventAt(0, true), eventAt(5, false, { url: 'http://elsewhere', slot: null })];
    expect(steps(replay(MONITOR, events))).toEqual(['PENDING UP 0.1']);
  });

  test('refuses a slot that comes twice', () => {
    const events = [eventAt(0, true), eventAt(1, true, { slot: START })];
    expect(() => replay(MONITOR, events)).toThrow(RepeatedSlotError);
  });
});

test('an edit and an event of the same moment are ambiguous', () => {
  const monitor = { ...MONITOR, thresholds: [{ at: START + 5_102, value: 2 }] };
  expect(isAmbiguous(monitor, [eventAt(5, true)])).toBe(true);
  expect(isAmbiguous(monitor, [eventAt(6, true)])).toBe(false);
});
