import type { StatusChange } from '@tocsin/contracts/monitors/events';
import type { ErrorReason } from '@tocsin/contracts/vocabulary';
import { and, asc, eq, sql } from 'drizzle-orm';
import type { Database } from '../database/open.ts';
import { toWire } from '../database/sql.ts';
import { isInRange, type TimestampRange, timestampRanges } from '../monitors/timestamps.ts';
import { monitors } from '../monitors/table.ts';
import { statusChanges } from './table.ts';

/** The frozen webhook events contain the reason. A silent change has no events. */
const errorReason = sql<ErrorReason | null>`(${statusChanges.webhookEvents} -> 0 ->> 'payload')::jsonb ->> 'errorReason'`;

/** Lists the first status changes, including silent ones, in these ranges of the account's monitors, by timestamp, then monitor. */
export async function tailStatusChanges(
  db: Database,
  accountId: string,
  ranges: readonly TimestampRange[],
  limit: number,
): Promise<StatusChange[]> {
  if (ranges.length === 0) return [];
  const tail = db
    .select({
      id: statusChanges.id,
      monitorId: statusChanges.monitorId,
      previousStatus: statusChanges.fromStatus,
      status: statusChanges.toStatus,
      timestamp: statusChanges.timestamp,
      region: statusChanges.region,
      errorReason: errorReason.as('error_reason'),
      errorDetail: statusChanges.errorDetail,
    })
    .from(statusChanges)
    .where(
      and(sql`${statusChanges.monitorId} = r.monitor_id`, isInRange(ranges, sql`${statusChanges.timestamp}`)),
    )
    .orderBy(asc(statusChanges.timestamp))
    .limit(limit)
    .as('tail');
  const rows = await db
    .select({ change: tail._.selectedFields, monitorName: monitors.name })
    .from(timestampRanges(ranges))
    .innerJoin(monitors, and(sql`${monitors.id} = r.monitor_id`, eq(monitors.accountId, accountId)))
    .crossJoinLateral(tail)
    .orderBy(asc(tail.timestamp), asc(tail.monitorId))
    .limit(limit);
  return rows.map(({ change, monitorName }) => toWire({ ...change, monitorName }));
}
