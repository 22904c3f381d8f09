import type { MonitorLatency } from '@tocsin/contracts/monitors/bulk-routes';
import type { MonitorOverview } from '@tocsin/contracts/monitors/overview';
import { type CsvCell, toCsv } from '../../components/csv.ts';
import { describeCause } from '../../components/format.ts';
import { labelTexts } from '@tocsin/contracts/labels/labels';
import { regionsOf } from './arrange-monitors.ts';

type Row = MonitorOverview & Partial<Pick<MonitorLatency, 'p95' | 'p99'>>;

/** Columns of the file. Times are ISO 8601 in UTC, latencies in milliseconds. */
const COLUMNS: Readonly<Record<string, (row: Row, defaultRegion: string) => CsvCell>> = {
  id: ({ id }) => id,
  name: ({ name }) => name,
  url: ({ url }) => url,
  status: ({ status }) => status,
  enabled: ({ enabled }) => String(enabled),
  statusSince: ({ statusSince }) => statusSince,
  cause: ({ errorDetail }) => errorDetail && describeCause(null, errorDetail),
  acknowledgedBy: ({ incident }) => incident?.acknowledgedBy ?? null,
  labels: ({ labels }) => labelTexts(labels).join(','),
  regions: (row, defaultRegion) => regionsOf(row, defaultRegion).join(','),
  interval: ({ interval }) => interval,
  lastCheckedAt: ({ lastCheckedAt }) => lastCheckedAt,
  certificateExpiresAt: ({ certificateExpiresAt }) => certificateExpiresAt,
  p95: ({ p95 }) => p95 ?? null,
  p99: ({ p99 }) => p99 ?? null,
  externalId: ({ externalId }) => externalId,
  source: ({ source }) => source,
};

/** @param ids monitors in row order. Unknown IDs are skipped */
export function monitorsToCsv(
  ids: readonly string[],
  monitors: readonly MonitorOverview[],
  latencies: readonly MonitorLatency[],
  defaultRegion: string,
): string {
  const byId = new Map(monitors.map((monitor) => [monitor.id, monitor]));
  const latencyOf = new Map(latencies.map((latency) => [latency.monitorId, latency]));
  const rows = ids.flatMap((id) => {
    const monitor = byId.get(id);
    if (monitor === undefined) return [];
    const row = { ...monitor, ...latencyOf.get(id) };
    return [Object.values(COLUMNS).map((cellOf) => cellOf(row, defaultRegion))];
  });
  return toCsv(Object.keys(COLUMNS), rows);
}
