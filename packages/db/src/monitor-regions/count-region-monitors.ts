import { sql } from 'drizzle-orm';
import type { Database } from '../database/open.ts';

/**
 * How many monitors each region checks, by region.
 * @param accountId only this account's; null: everybody's
 */
export async function countRegionMonitors(
  db: Database,
  accountId: string | null,
): Promise<Map<string, number>> {
  const { rows } = await db.execute<{ region: string; monitors: number }>(sql`
    select r.region, count(*)::int as monitors from monitor_regions r
    ${accountId === null ? sql`` : sql`join monitors m on m.id = r.monitor_id and m.account_id = ${accountId}`}
    group by r.region order by r.region`);
  return new Map(rows.map((row) => [row.region, row.monitors]));
}
