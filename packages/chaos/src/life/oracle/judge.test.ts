import { expect, test } from '@jest/globals';
import type { ImplyingEvent } from '@tocsin/lab/oracle';
import type { ReceivedWebhook } from '@tocsin/embedded/local-web/webhook-receiver';
import { faultsOf, judge } from './judge.ts';
import type { Readings } from './read.ts';

const at = (second: number): string => new Date(second * 1_000).toISOString();

function event(second: number, status: 'UP' | 'DOWN'): ImplyingEvent {
  const errorReason = status === 'UP' ? null : 'HTTP_500';
  return { timestamp: at(second), status, latency: 5, errorReason, region: 'default' };
}

function webhook(id: string, second: number, kind: string): ReceivedWebhook {
  const down = kind === 'monitor.down' || kind === 'incident.created';
  const payload = {
    event: kind,
    monitorId: 'flapping',
    monitorName: 'Shop',
    status: down ? 'DOWN' : 'UP',
    previousStatus: down ? 'UP' : 'DOWN',
    latency: 5,
    errorReason: down ? 'HTTP_500' : null,
    region: 'default',
    timestamp: at(second),
    runbookUrl: null,
  };
  const body = JSON.stringify(payload);
  return { at: new Date(0), address: '', path: '/', method: 'POST', headers: { 'webhook-id': id }, body };
}

/** Two monitors, one of which was down once; the webhooks did not come in the order of their stamps. */
const HEALTHY: Readings = {
  monitorIds: ['flapping', 'steady'],
  flapping: 1,
  requests: new Map([
    [0, [1_000, 2_000, 3_000]],
    [1, [1_000, 2_000, 3_000]],
  ]),
  failedRequests: new Map([[0, 1]]),
  eventCounts: new Map([
    ['flapping', { all: 3, passed: 2, failed: 1 }],
    ['steady', { all: 3, passed: 3, failed: 0 }],
  ]),
  flappingEvents: new Map([['flapping', [event(1, 'UP'), event(2, 'DOWN'), event(3, 'UP')]]]),
  slots: { planned: 6, checked: 6, events: 6 },
  misses: {},
  statusChanges: 2,
  deliveryIds: new Set(['a', 'b', 'c', 'd']),
  failures: [],
  received: [
    webhook('a', 2, 'monitor.down'),
    webhook('c', 3, 'monitor.up'),
    webhook('b', 2.1, 'incident.created'),
    webhook('d', 3.1, 'incident.resolved'),
  ],
  eventIds: ['1', '2'],
  streamed: new Set(['1', '2', '3']),
};

test('a run in order has no faults', () => {
  expect(faultsOf(judge(HEALTHY))).toEqual([]);
});

test.each<[string, Partial<Readings>, string[]]>([
  [
    'a slot without an event',
    { slots: { planned: 6, checked: 5, events: 5 } },
    ['1 planned checks were missed'],
  ],
  [
    'a slot with two',
    { slots: { planned: 6, checked: 6, events: 7 } },
    ['1 planned checks have more than one event'],
  ],
  [
    'a check whose result was dropped, or not recorded',
    { requests: new Map([...HEALTHY.requests, [1, [1_000, 2_000, 3_000, 3_001]]]) },
    ['1 monitors were checked more, or less, often than they have events'],
  ],
  [
    'results that were mixed up',
    {
      eventCounts: new Map([
        ['flapping', { all: 3, passed: 3, failed: 0 }],
        ['steady', { all: 3, passed: 2, failed: 1 }],
      ]),
    },
    ['2 monitors have events that say otherwise than their target'],
  ],
  ['a run without a status change', { statusChanges: 0 }, ['there were no status changes']],
  [
    'a webhook that came twice',
    { received: [...HEALTHY.received, webhook('a', 2, 'monitor.down')] },
    ['1 webhooks came more than once'],
  ],
  ['an attempt that failed', { failures: ['TIMEOUT'] }, ['1 attempts at a webhook failed']],
  [
    'a delivery that did not come',
    { received: HEALTHY.received.slice(1) },
    ['1 webhooks did not come', '1 monitors have other webhooks than follow from their events'],
  ],
  [
    'a webhook that is not in Postgres',
    { deliveryIds: new Set(['a', 'b', 'c']) },
    ['1 webhooks came that no delivery is about'],
  ],
  [
    'a status change that left no delivery at all',
    { received: HEALTHY.received.slice(0, 3), deliveryIds: new Set(['a', 'b', 'c']) },
    ['1 monitors have other webhooks than follow from their events'],
  ],
  [
    'an event that was not streamed',
    { streamed: new Set(['1']) },
    ['1 events did not come over the live stream'],
  ],
])('%s is a fault', (_, change, faults) => {
  expect(faultsOf(judge({ ...HEALTHY, ...change }))).toEqual(faults);
});
