import type { MonitorOverview, Overview } from '@tocsin/contracts/monitors/overview';
import { MONITOR_STATUSES } from '@tocsin/contracts/vocabulary';
import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Database } from '../database/open.ts';
import { epochMs, firstOf, query } from '../database/sql.ts';

const instant = z.number().transform((time) => new Date(time).toISOString());

const monitorRow = z.object({
  id: z.string(),
  name: z.string(),
  url: z.string(),
  source: z.string().nullable(),
  externalId: z.string().nullable(),
  labels: z.record(z.string(), z.string()),
  status: z.enum(MONITOR_STATUSES),
  statusSince: instant,
  errorDetail: z.string().nullable(),
  interval: z.number(),
  regions: z.array(z.string()),
  lastCheckedAt: instant.nullable(),
  certificateExpiresAt: instant.nullable(),
  updatedAt: instant,
  incidentId: z.string().nullable(),
  openedAt: instant.nullable(),
});
/** An account without monitors has one row, with nothing but the position. */
const overviewRow = z.union([
  monitorRow.extend({ position: z.number() }),
  z.object({ position: z.number(), id: z.null() }),
]);

/** Every monitor of the account, newest first, as lists show it. */
export async function readOverview(db: Database, accountId: string): Promise<Overview> {
  // In a statement with parameters, `statement_timestamp` is the time just after its snapshot.
  const rows = await query(db, overviewRow)`
    select floor(${epochMs(sql`c.now`)}) as position, m.id, m.name, m.url, m.source, m.external_id, m.labels, m.status,
      ${epochMs(sql`m.status_since`)} as status_since, case when m.status = 'DOWN' then m.error_detail end as error_detail,
      m.interval_seconds as interval, m.regions, ${epochMs(sql`m.last_checked_at`)} as last_checked_at,
      ${epochMs(sql`m.updated_at`)} as updated_at, i.id as incident_id, ${epochMs(sql`i.opened_at`)} as opened_at,
      (select ${epochMs(sql`min(r.certificate_expires_at)`)} from monitor_regions r where r.monitor_id = m.id)
        as certificate_expires_at
    from (select statement_timestamp() as now) c
    left join monitors m on m.account_id = ${accountId}
    left join incidents i on i.monitor_id = m.id and i.resolved_at is null
    order by m.created_at desc, m.id desc`;
  return {
    position: new Date(firstOf(rows).position).toISOString(),
    monitors: rows.flatMap((row) => (row.id === null ? [] : [toOverview(row)])),
  };
}

function toOverview({
  incidentId,
  openedAt,
  ...monitor
}: Extract<z.output<typeof overviewRow>, { name: string }>): MonitorOverview {
  const { position: _, ...shown } = monitor;
  return {
    ...shown,
    incident:
      incidentId === null || openedAt === null
        ? null
        : { id: incidentId, openedAt, acknowledgedAt: null, acknowledgedBy: null },
  };
}
