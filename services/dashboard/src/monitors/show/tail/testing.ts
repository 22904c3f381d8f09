import type { Event } from '@tocsin/contracts/monitors/events';

/** An event of the monitor `m`, `second` seconds after some moment, whose id is that number. */
export function eventAt(second: number, monitorId = 'm'): Event {
  return {
    id: String(second),
    monitorId,
    monitorName: 'Checkout',
    status: 'UP',
    latency: 12,
    statusCode: 200,
    errorReason: null,
    errorDetail: null,
    region: 'default',
    timestamp: new Date(Date.UTC(2026, 0, 1) + second * 1_000).toISOString(),
    source: 'schedule',
    url: null,
    timings: { dns: 1, tcp: 2, tls: 3, firstByte: 4, download: 2 },
    runbookUrl: null,
  };
}
