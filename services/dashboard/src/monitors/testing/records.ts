import type { Event, MonitorRegion } from '@tocsin/contracts/monitors/events';
import { createMonitorSchema, type Monitor, type MonitorInput } from '@tocsin/contracts/monitors/monitor';
import type { MonitorOverview } from '@tocsin/contracts/monitors/overview';

const STATE = {
  id: '01890a5d-ac96-774b-bcce-b302099a8057',
  enabled: true,
  status: 'UP',
  statusSince: '2026-01-01T00:00:00.000Z',
  errorDetail: null,
  lastCheckedAt: null,
  updatedAt: '2026-01-01T00:00:00.000Z',
} as const;

/** A monitor with the given fields, and defaults for the others. */
export function monitorWith(input: Partial<MonitorInput> = {}): Monitor {
  return {
    ...createMonitorSchema.parse({ name: 'Checkout', url: 'https://shop.example.com/health' }),
    ...STATE,
    ...input,
    createdAt: '2026-01-01T00:00:00.000Z',
  };
}

/** The row of a list with the given fields. */
export function overviewWith(fields: Partial<MonitorOverview> = {}): MonitorOverview {
  return {
    ...STATE,
    name: 'Checkout',
    url: 'https://shop.example.com/health',
    source: null,
    externalId: null,
    labels: {},
    interval: 60,
    regions: [],
    certificateExpiresAt: null,
    failing: fields.status === 'DOWN',
    incident: null,
    ...fields,
  };
}

/** A region where the monitor passes, with the given fields. */
export function regionWith(fields: Partial<MonitorRegion> = {}): MonitorRegion {
  return {
    region: 'eu',
    status: 'UP',
    failing: false,
    consecutiveFailures: 0,
    lastCheckedAt: '2026-01-01T00:00:00.000Z',
    eligible: true,
    certificateExpiresAt: null,
    ...fields,
  };
}

/** Texts that are easily quoted wrongly. */
export const NASTY = [
  `it's`,
  `'\\''`,
  '"',
  '\\n',
  '$HOME ${HOME} $(id) `id`',
  '! $! \\!',
  'a\n\n\n',
  ' leading and trailing ',
  '  a\n   \nb',
  'tab\there',
  'a\r\nb',
  '- item',
  'key: value #comment',
  '&anchor *alias',
  '|',
  '{"a": [1, "two"]}',
  'null',
  '12',
  '---',
  'ünïcödé 監視 🔔',
  '\u0001\u007f\u0085\u2028\ufeff',
  'EOF\nEOF',
  '${X:?}',
] as const;

/** Creates an event with the id `second`, that many seconds after 2026-01-01T00:00:00Z. @param monitorId defaults to `m` */
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
    inconclusive: false,
    hasResponse: false,
    region: 'default',
    timestamp: new Date(Date.UTC(2026, 0, 1) + second * 1_000).toISOString(),
    source: 'schedule',
    url: null,
    timings: { dns: 1, tcp: 2, tls: 3, firstByte: 4, download: 2 },
    runbookUrl: null,
  };
}
