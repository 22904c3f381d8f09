import { type Digest, digestOf } from '@tocsin/contracts/live-stream/digest';
import type { MonitorOverview, Overview } from '@tocsin/contracts/monitors/overview';
import { MONITOR_STATUSES, type MonitorStatus } from '@tocsin/contracts/vocabulary';
import { hiddenStatus } from '@tocsin/core/status/maintenance';
import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Database } from '../database/open.ts';
import { epochMs, firstOf, query } from '../database/sql.ts';
import { beforeSnapshot, type MonitorTimestamps, stampRow, toTimestamps } from './timestamps.ts';

const instant = z.number().transform((time) => new Date(time).toISOString());

/** State that decides the hidden status of a monitor in maintenance. Times are epoch milliseconds. */
const hiddenState = z.object({
  before: z.enum(['PENDING', 'UP', 'DOWN']),
  failureThreshold: z.number(),
  recoveryThreshold: z.number(),
  intervalSeconds: z.number(),
  timeoutSeconds: z.number(),
  now: z.number(),
  regions: z.array(
    z.object({
      consecutiveFailures: z.number(),
      recoveryPasses: z.number().nullable(),
      lastResultAt: z.number().nullable(),
      since: z.number(),
    }),
  ),
});
const hiddenColumn = sql`case m.status when 'MAINTENANCE' then (
  select json_build_object('before', coalesce(m.status_before_maintenance, 'PENDING'), 'failureThreshold', m.failure_threshold,
    'recoveryThreshold', m.recovery_threshold, 'intervalSeconds', m.interval_seconds, 'timeoutSeconds', m.timeout_seconds,
    'now', ${epochMs(sql`statement_timestamp()`)}, 'regions', coalesce(json_agg(json_build_object(
      'consecutiveFailures', r.consecutive_failures, 'recoveryPasses', r.recovery_passes,
      'lastResultAt', ${epochMs(sql`r.last_result_at`)}, 'since', ${epochMs(sql`r.since`)})), '[]'))
  from monitor_regions r where r.monitor_id = m.id) end`;

const digestedRow = z.object({
  id: z.string(),
  enabled: z.boolean(),
  status: z.enum(MONITOR_STATUSES),
  statusSince: instant,
  errorDetail: z.string().nullable(),
  updatedAt: instant,
  certificateExpiresAt: instant.nullable(),
  hidden: hiddenState.nullable(),
  incidentId: z.string().nullable(),
  acknowledgedAt: instant.nullable(),
});
const digestedColumns = sql`m.id, m.enabled, m.status, ${epochMs(sql`m.status_since`)} as status_since,
  case when m.status = 'DOWN' then m.error_detail end as error_detail, ${epochMs(sql`m.updated_at`)} as updated_at,
  (select ${epochMs(sql`min(r.certificate_expires_at)`)} from monitor_regions r where r.monitor_id = m.id) as certificate_expires_at,
  ${hiddenColumn} as hidden, i.id as incident_id, ${epochMs(sql`i.acknowledged_at`)} as acknowledged_at`;

const monitorRow = digestedRow.extend({
  position: z.number(),
  name: z.string(),
  url: z.string(),
  source: z.string().nullable(),
  externalId: z.string().nullable(),
  labels: z.record(z.string(), z.string()),
  interval: z.number(),
  regions: z.array(z.string()),
  lastCheckedAt: instant.nullable(),
  openedAt: instant.nullable(),
  acknowledgedBy: z.string().nullable(),
});
/** An account without monitors has one row that contains only the position. */
const overviewRow = z.union([monitorRow, z.object({ position: z.number(), id: z.null() })]);

/** Reads every monitor of the account in the form of lists, newest first. */
export async function readOverview(db: Database, accountId: string): Promise<Overview> {
  // A statement with parameters has its `statement_timestamp` just after its snapshot.
  const rows = await query(db, overviewRow)`
    select ceil(${epochMs(sql`c.now`)}) as position, ${digestedColumns}, m.name, m.url, m.source, m.external_id, m.labels,
      m.interval_seconds as interval, m.regions, ${epochMs(sql`m.last_checked_at`)} as last_checked_at,
      ${epochMs(sql`i.opened_at`)} as opened_at, i.acknowledged_by_name as acknowledged_by
    from (select statement_timestamp() as now) c
    left join monitors m on m.account_id = ${accountId}
    left join incidents i on i.monitor_id = m.id and i.resolved_at is null
    order by m.created_at desc, m.id desc`;
  return {
    position: new Date(firstOf(rows).position).toISOString(),
    monitors: rows.flatMap((row) => (row.id === null ? [] : [toOverview(row)])),
  };
}

type FoundRow = Extract<z.output<typeof overviewRow>, { name: string }>;

function toOverview(row: FoundRow): MonitorOverview {
  const { position: _, hidden, incidentId: id, openedAt, acknowledgedAt, acknowledgedBy, ...monitor } = row;
  return {
    ...monitor,
    failing: isFailing(row, hidden),
    incident: id === null || openedAt === null ? null : { id, openedAt, acknowledgedAt, acknowledgedBy },
  };
}

/** Maintenance hides only the status. Checks continue, so their results show whether the monitor fails. */
function isFailing(
  { enabled, status }: { readonly enabled: boolean; readonly status: MonitorStatus },
  hidden: z.output<typeof hiddenState> | null,
): boolean {
  if (!enabled) return false;
  if (hidden === null) return status === 'DOWN';
  const { before, regions, now, ...rules } = hidden;
  return hiddenStatus(rules, before, regions, now) === 'DOWN';
}

const digestRow = z.union([
  digestedRow.extend(stampRow.shape).extend({ id: z.string() }),
  stampRow.extend({ id: z.null() }),
]);

/** Reads `listMonitorTimestamps` of all monitors, with a digest of their state at these timestamps from the same snapshot. */
export async function digestMonitors(
  db: Database,
  accountId: string,
): Promise<MonitorTimestamps & { readonly digest: Digest }> {
  const rows = await query(db, digestRow)`
    select c.now, ${epochMs(sql`m.last_timestamp`)} as stamp, ${digestedColumns}
    from ${beforeSnapshot} c
    left join monitors m on m.account_id = ${accountId}
    left join incidents i on i.monitor_id = m.id and i.resolved_at is null`;
  const monitors = rows.flatMap((row) => {
    if (!('status' in row)) return [];
    const { hidden, incidentId: id, acknowledgedAt, ...monitor } = row;
    const incident = id === null ? null : { id, acknowledgedAt };
    return [{ ...monitor, failing: isFailing(row, hidden), incident }];
  });
  return { ...toTimestamps(rows), digest: digestOf(monitors) };
}
