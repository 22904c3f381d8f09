import { MONITOR_STATUSES } from '@tocsin/contracts/vocabulary';
import { sql, type SQL } from 'drizzle-orm';
import { z } from 'zod';
import type { Database } from '../database/open.ts';
import { readIdPages } from '../monitors/id-pages.ts';
import { isListed } from '../monitors/list-monitors.ts';

/** Regions of the monitors in a page. Reading it does not delay other requests. */
const PAGE_REGIONS = 250;

const count = z.number();
const epochMsOrNull = z.number().nullable();

/** Numbers of a region as a JSON array in one column, which costs a fraction of separate columns. Times are epoch milliseconds. */
const numbers = z
  .string()
  .transform((text) => JSON.parse(text) as unknown)
  .pipe(
    z.tuple(
      [
        count.describe('incidents'),
        epochMsOrNull.describe('expiry of the certificate'),
        epochMsOrNull.describe('last check'),
        count.describe('passed checks'),
        count.describe('failed checks'),
        count.describe('inconclusive checks'),
        count.describe('sum of the durations in milliseconds'),
      ],
      // The remaining numbers are the durations by bucket.
      count,
    ),
  );

const metricsRow = z.object({
  id: z.string(),
  name: z.string(),
  externalId: z.string().nullable(),
  source: z.string().nullable(),
  labels: z.record(z.string(), z.string()),
  status: z.enum(MONITOR_STATUSES),
  region: z.string(),
  numbers,
});
type MetricsRow = z.output<typeof metricsRow>;

export interface RegionMetrics {
  readonly region: string;
  readonly upChecks: number;
  readonly downChecks: number;
  readonly inconclusiveChecks: number;
  /** Number of checks by bucket of `DURATION_BOUNDS_MS`, not cumulative. */
  readonly durationCounts: readonly number[];
  readonly durationSumMs: number;
  /** Epoch milliseconds. Null before the first check. */
  readonly lastCheckedAt: number | null;
}

export interface MonitorMetrics extends Pick<
  MetricsRow,
  'id' | 'name' | 'externalId' | 'source' | 'labels' | 'status'
> {
  readonly incidents: number;
  /** Earliest expiry in any region in epoch milliseconds. Null if no region saw a certificate. */
  readonly certificateExpiresAt: number | null;
  readonly regions: readonly RegionMetrics[];
}

export interface MetricsFilter {
  /** Undefined for all sources. */
  readonly source?: string | undefined;
  /** False leaves labels empty. */
  readonly withLabels: boolean;
}

/** Reads the metrics of an account's monitors that are not paused, oldest monitor first. Each page has its own snapshot. */
export async function* readMonitorMetrics(
  db: Database,
  accountId: string,
  { source, withLabels }: MetricsFilter,
): AsyncGenerator<readonly MonitorMetrics[]> {
  const { pages } = await readIdPages(db, {
    where: isListed(accountId, { source }),
    order: sql`created_at, id`,
    size: sql`greatest(1, cardinality(regions))`,
    pageSize: PAGE_REGIONS,
  });
  for (const page of pages) {
    const { rows } = await db.execute(sql`
      select m.id, m.name, m.external_id as "externalId", m.source, ${withLabels ? sql`m.labels` : sql`'{}'::jsonb`} as labels,
        m.status, r.region, ${NUMBERS} as numbers
      from monitors m join monitor_regions r on r.monitor_id = m.id
      where m.id = any(${`{${page}}`}::uuid[]) and m.enabled
      order by m.created_at, m.id, r.region`);
    yield groupByMonitor(z.array(metricsRow).parse(rows));
  }
}

/** Selects the numbers in the form that `numbers` parses. */
const NUMBERS = sql`concat('[', concat_ws(',', m.incident_count, ${wholeMs('r.certificate_expires_at')},
  ${wholeMs('r.last_checked_at')}, r.up_checks, r.down_checks, r.inconclusive_checks, r.duration_sum_ms,
  array_to_string(r.duration_counts, ',')), ']')`;

function wholeMs(time: string): SQL {
  return sql.raw(`coalesce((extract(epoch from ${time}) * 1000)::bigint::text, 'null')`);
}

/** @param rows ordered by monitor */
function groupByMonitor(rows: readonly MetricsRow[]): MonitorMetrics[] {
  const grouped: MetricsRow[][] = [];
  for (const row of rows) {
    const same = grouped.at(-1);
    if (same?.[0]?.id === row.id) same.push(row);
    else grouped.push([row]);
  }
  return grouped.map((ofMonitor) => {
    const [{ id, name, externalId, source, labels, status, numbers }] = ofMonitor as [MetricsRow];
    const [incidents] = numbers;
    const expiries = ofMonitor.flatMap(({ numbers: [, expiry] }) => expiry ?? []);
    const certificateExpiresAt = expiries.length > 0 ? Math.min(...expiries) : null;
    const regions = ofMonitor.map(toRegionMetrics);
    return { id, name, externalId, source, labels, status, incidents, certificateExpiresAt, regions };
  });
}

function toRegionMetrics({ region, numbers: [, , lastCheckedAt, ...rest] }: MetricsRow): RegionMetrics {
  const [upChecks, downChecks, inconclusiveChecks, durationSumMs, ...durationCounts] = rest;
  return { region, lastCheckedAt, durationSumMs, durationCounts, upChecks, downChecks, inconclusiveChecks };
}
