import { describe, expect, test } from '@jest/globals';
import { compareAlerts, type Alert } from './find-alerts.ts';
import { FLAP } from './flaps.ts';

const FROM = 1_200_000_000;
const SPAN = { from: FROM, to: FROM + 2 * FLAP.periodMs };
const INTERVAL_MS = 60_000;
/** Goes down at 100 s and 700 s of the span. */
const PHASE = (FROM + 100_000) % FLAP.periodMs;
const DOWN_AT = FROM + 100_000;

function alert(monitorId: string, status: Alert['status'], timestamp: number): Alert {
  const webhookId = `${monitorId} ${status} ${timestamp}`;
  return { webhookId, monitorId, status, timestamp, receivedAt: timestamp + 50 };
}

/** The alerts of a flapping monitor whose checks see each transition after 20 s. */
const ALL = [0, FLAP.periodMs].flatMap((period) => [
  alert('a', 'DOWN', DOWN_AT + period + 20_000),
  alert('a', 'UP', DOWN_AT + period + FLAP.downMs + 20_000),
]);

function compare(alerts: readonly Alert[]) {
  return compareAlerts(alerts, new Map([['a', PHASE]]), SPAN, INTERVAL_MS);
}

describe('compareAlerts', () => {
  test('finds the alert of each transition', () => {
    expect(compare(ALL)).toEqual({
      expected: 4,
      missing: 0,
      unexpected: [],
      repeated: 0,
      delaysMs: [20_050, 20_050, 20_050, 20_050],
    });
  });

  test('counts a missing alert', () => {
    expect(compare(ALL.slice(1))).toMatchObject({ expected: 4, missing: 1, unexpected: [] });
  });

  test.each([
    ['of a target that is always up', alert('b', 'DOWN', FROM + 5)],
    ['before the transition', alert('a', 'DOWN', DOWN_AT - 1)],
    ['a second time for one transition', alert('a', 'DOWN', DOWN_AT + 30_000)],
    ['long after the transition', alert('a', 'UP', DOWN_AT + FLAP.downMs + 90_000)],
  ])('reports an alert %s', (_, wrong) => {
    expect(compare([...ALL, wrong])).toMatchObject({ missing: 0, unexpected: [wrong] });
  });

  test('ignores alerts before and after the span, and those that may be due after it', () => {
    const early = alert('b', 'DOWN', FROM - 1);
    const late = alert('b', 'UP', SPAN.to);
    expect(compare([early, ...ALL, late]).unexpected).toEqual([]);
    const short = { from: FROM, to: DOWN_AT + INTERVAL_MS };
    expect(compareAlerts([], new Map([['a', PHASE]]), short, INTERVAL_MS)).toMatchObject({ expected: 0 });
  });

  test('counts a webhook that arrives twice once, and as repeated', () => {
    expect(compare([...ALL, ...ALL.slice(0, 1)])).toMatchObject({ missing: 0, unexpected: [], repeated: 1 });
  });
});
