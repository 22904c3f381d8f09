import { describe, expect, test } from '@jest/globals';
import type { WebhookArrival } from '../processes/target.ts';
import { compareAlerts } from './find-alerts.ts';
import { FLAP } from './plan.ts';

describe('compareAlerts', () => {
  const FROM = 1_200_000_000;
  const SPAN = { from: FROM, to: FROM + 2 * FLAP.periodMs };
  /** Goes down at 100 s and 700 s of the span. */
  const PHASES = new Map([['a', (FROM + 100_000) % FLAP.periodMs]]);
  const DOWN_AT = FROM + 100_000;
  const alert = (monitorId: string, status: 'DOWN' | 'UP', timestamp: number): WebhookArrival => {
    const webhookId = `${monitorId} ${status} ${timestamp}`;
    const event = `monitor.${status.toLowerCase()}`;
    return { webhookId, monitorId, event, timestamp, receivedAt: timestamp + 50 };
  };
  /** The alerts of a flapping monitor whose checks see each transition after 20 s. */
  const ALL = [0, FLAP.periodMs].flatMap((period) => [
    alert('a', 'DOWN', DOWN_AT + period + 20_000),
    alert('a', 'UP', DOWN_AT + period + FLAP.downMs + 20_000),
  ]);
  const compare = (alerts: readonly WebhookArrival[], span = SPAN): object =>
    compareAlerts(alerts, PHASES, span, 60_000);
  const late = alert('a', 'UP', DOWN_AT + FLAP.downMs + 90_000);
  const early = alert('a', 'DOWN', DOWN_AT - 1);
  const second = alert('a', 'DOWN', DOWN_AT + 30_000);
  const other = alert('b', 'DOWN', FROM + 5);
  const [before, after] = [alert('b', 'DOWN', FROM - 1), alert('b', 'UP', SPAN.to)];

  test.each([
    ['the alert of each transition', ALL, {}],
    ['a missing alert', ALL.slice(1), { missing: 1, delaysMs: [20_050, 20_050, 20_050] }],
    ['an alert of a target that is always up', [...ALL, other], { unexpected: [other] }],
    ['an alert before the transition', [...ALL, early], { unexpected: [early] }],
    ['a second alert of one transition', [...ALL, second], { unexpected: [second] }],
    ['an alert long after the transition', [...ALL, late], { unexpected: [late] }],
    ['a webhook that arrives twice', [...ALL, ...ALL.slice(0, 1)], { repeated: 1 }],
    ['no alerts before and after the span', [before, ...ALL, after], {}],
  ])('finds %s', (_, alerts, found) => {
    const delaysMs = [20_050, 20_050, 20_050, 20_050];
    const none = { expected: 4, missing: 0, unexpected: [], repeated: 0, delaysMs };
    expect(compare(alerts)).toEqual({ ...none, ...found });
  });

  test('expects no alert that may be due after the span', () => {
    expect(compare([], { from: FROM, to: DOWN_AT + 60_000 })).toMatchObject({ expected: 0 });
  });
});
