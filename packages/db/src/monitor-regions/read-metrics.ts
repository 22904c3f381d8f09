import { MONITOR_STATUSES } from '@tocsin/contracts/vocabulary';
import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Database } from '../database/open.ts';
import { epochMs, query, timestamptz } from '../database/sql.ts';

/** Few enough that reading a page does not delay other requests. */
const PAGE_MONITORS = 500;
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/** The counters of a region in one text, which costs a fraction of a column for each. */
const counters = z.string().transform((text) => text.split(' ').map(Number));

const metricsRow = z.object({
  id: z.string(),
  createdAt: z.number(),
  name: z.string(),
  externalId: z.string().nullable(),
  source: z.string().nullable(),
  labels: z.record(z.string(), z.string()),
  status: z.enum(MONITOR_STATUSES),
  incidents: z.number(),
  region: z.string(),
  /** Epoch milliseconds; null without a check. */
  lastCheckedAt: z.number().nullable(),
  /** Epoch milliseconds; null without a certificate. */
  certificateExpiresAt: z.number().nullable(),
  durationSumMs: z.number(),
  checks: counters,
  durationCounts: counters,
});
type MetricsRow = z.output<typeof metricsRow>;

export interface RegionMetrics extends Pick<MetricsRow, 'region' | 'lastCheckedAt' | 'durationSumMs'> {
  readonly upChecks: number;
  readonly downChecks: number;
  readonly inconclusiveChecks: number;
  /** By bucket of `DURATION_BOUNDS_MS`, not cumulative. */
  readonly durationCounts: readonly number[];
}

export interface MonitorMetrics extends Pick<
  MetricsRow,
  'id' | 'name' | 'externalId' | 'source' | 'labels' | 'status' | 'incidents'
> {
  /** The earliest expiry of its regions, epoch milliseconds; null: none saw a certificate. */
  readonly certificateExpiresAt: number | null;
  readonly regions: readonly RegionMetrics[];
}

export interface MetricsFilter {
  /** Undefined: all sources. */
  readonly source?: string | undefined;
  /** Whether to read labels; otherwise they are empty. */
  readonly withLabels: boolean;
}

/** The metrics of every monitor of an account, oldest monitor first, in pages. Each page has a snapshot of its own. */
export async function* readMonitorMetrics(
  db: Database,
  accountId: string,
  { source, withLabels }: MetricsFilter,
): AsyncGenerator<readonly MonitorMetrics[]> {
  const isOfSource = source === undefined ? sql`` : sql`and source = ${source}`;
  let after = { createdAt: -Infinity, id: FIRST_ID };
  for (;;) {
    const rows = await query(db, metricsRow)`
      with page as (
        select * from monitors
        where account_id = ${accountId} and (created_at, id) > (${timestamptz(after.createdAt)}, ${after.id}::uuid) ${isOfSource}
        order by created_at, id limit ${PAGE_MONITORS})
      select m.id, ${epochMs(sql`m.created_at`)} as created_at, m.name, m.external_id, m.source,
        ${withLabels ? sql`m.labels` : sql`'{}'::jsonb as labels`}, m.status, m.incident_count::float8 as incidents, r.region,
        ${epochMs(sql`coalesce(r.last_checked_at, r.last_result_at)`)} as last_checked_at,
        ${epochMs(sql`r.certificate_expires_at`)} as certificate_expires_at, r.duration_sum_ms::float8,
        concat_ws(' ', r.up_checks, r.down_checks, r.inconclusive_checks) as checks,
        array_to_string(r.duration_counts, ' ') as duration_counts
      from page m join monitor_regions r on r.monitor_id = m.id
      order by m.created_at, m.id, r.region`;
    const page = groupByMonitor(rows);
    if (page.length > 0) yield page;
    const last = rows.at(-1);
    if (last === undefined || page.length < PAGE_MONITORS) return;
    after = last;
  }
}

/** @param rows those of a monitor one after the other */
function groupByMonitor(rows: readonly MetricsRow[]): MonitorMetrics[] {
  const grouped = new Map<string, MetricsRow[]>();
  for (const row of rows) {
    const same = grouped.get(row.id);
    if (same === undefined) grouped.set(row.id, [row]);
    else same.push(row);
  }
  return [...grouped.values()].map((ofMonitor) => {
    const [{ id, name, externalId, source, labels, status, incidents }] = ofMonitor as [MetricsRow];
    const expiries = ofMonitor.flatMap(({ certificateExpiresAt }) => certificateExpiresAt ?? []);
    const certificateExpiresAt = expiries.length > 0 ? Math.min(...expiries) : null;
    const regions = ofMonitor.map(toRegionMetrics);
    return { id, name, externalId, source, labels, status, incidents, certificateExpiresAt, regions };
  });
}

function toRegionMetrics({ region, lastCheckedAt, durationSumMs, durationCounts, checks }: MetricsRow) {
  const [upChecks = 0, downChecks = 0, inconclusiveChecks = 0] = checks;
  return { region, lastCheckedAt, durationSumMs, durationCounts, upChecks, downChecks, inconclusiveChecks };
}
