import type { Event } from '@tocsin/contracts/event';
import type { MonitorRow } from '../monitors/table.ts';
import type { EventRow } from './table.ts';

/** The wire record of an event; name and runbook URL are the monitor's of now. */
export function toEvent(row: EventRow, monitor: Pick<MonitorRow, 'name' | 'runbookUrl'>): Event {
  return {
    id: row.id,
    monitorId: row.monitorId,
    monitorName: monitor.name,
    status: row.status,
    latency: row.latencyMs,
    statusCode: row.statusCode,
    errorReason: row.errorReason,
    errorDetail: row.errorDetail,
    region: row.region,
    timestamp: row.timestamp.toISOString(),
    source: row.source,
    url: row.url,
    timings: {
      dns: row.dnsMs,
      tcp: row.tcpMs,
      tls: row.tlsMs,
      firstByte: row.firstByteMs,
      download: row.downloadMs,
    },
    runbookUrl: monitor.runbookUrl,
  };
}
