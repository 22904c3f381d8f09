import { sql, type SQL } from 'drizzle-orm';

/**
 * Whether one of the windows of this monitor covers it now, by the times of its occurrence and Postgres' clock: not by what the
 * maintenance clock has made of it, which may be late.
 * @param monitorId an expression
 */
export function isCovered(monitorId: SQL): SQL {
  return sql`exists (
    select from maintenance_window_monitors cover join maintenance_windows covering on covering.id = cover.window_id
    where cover.monitor_id = ${monitorId} and covering.state <> 'ended'
      and covering.occurrence_starts_at <= statement_timestamp()
      and covering.occurrence_ends_at > statement_timestamp())`;
}
