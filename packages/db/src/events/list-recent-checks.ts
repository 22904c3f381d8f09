import { LIMITS } from '@tocsin/contracts/limits';
import type { RecentChecks } from '@tocsin/contracts/recent-checks';
import type { CheckStatus } from '@tocsin/contracts/vocabulary';
import { sql } from 'drizzle-orm';
import { arrayOf } from '../database/arrays.ts';
import type { Database } from '../database/open.ts';

const DAY_MS = 86_400_000;

type RecentCheckRow = Record<string, unknown> & {
  monitor_id: string;
  /** Epoch milliseconds; this and what follows is null for a monitor without a check. */
  timestamp: number | null;
  status: CheckStatus;
  latency_ms: number;
  region: string;
};

/**
 * The latest checks of these monitors, oldest first, in the order of the ids; what triggers checked at another URL is left out. A
 * monitor that is not the account's, or gone, is left out.
 */
export async function listRecentChecks(
  db: Database,
  accountId: string,
  monitorIds: readonly string[],
): Promise<RecentChecks[]> {
  const { days, checks } = LIMITS.recentChecks;
  const now = Date.now();
  // Values, not expressions: so the planner leaves out the partitions of other days. A day more, should our clock be behind.
  const [from, to] = [now - days * DAY_MS, now + DAY_MS].map((time) => new Date(time).toISOString());
  const { rows } = await db.execute<RecentCheckRow>(sql`
    select m.id as monitor_id, (extract(epoch from c.timestamp) * 1000)::float8 as timestamp,
      c.status, c.latency_ms, c.region
    from unnest(${arrayOf('uuid', monitorIds)}) with ordinality as u (id, position)
    join monitors m on m.id = u.id and m.account_id = ${accountId}
    left join lateral (
      select e.timestamp, e.status, e.latency_ms, e.region from events e
      where e.monitor_id = m.id and e.timestamp > ${from}::timestamptz and e.timestamp < ${to}::timestamptz
        and e.url is null
      order by e.timestamp desc limit ${checks}
    ) c on true
    order by u.position, c.timestamp`);
  const byMonitor = new Map<string, RecentChecks>();
  for (const row of rows) {
    const recent = byMonitor.get(row.monitor_id) ?? { monitorId: row.monitor_id, checks: [] };
    byMonitor.set(row.monitor_id, recent);
    if (row.timestamp !== null) recent.checks.push(toCheck(row, row.timestamp));
  }
  return [...byMonitor.values()];
}

function toCheck(row: RecentCheckRow, timestamp: number): RecentChecks['checks'][number] {
  return {
    timestamp: new Date(timestamp).toISOString(),
    status: row.status,
    latency: row.latency_ms,
    region: row.region,
  };
}
