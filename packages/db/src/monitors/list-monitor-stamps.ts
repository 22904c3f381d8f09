import { sql } from 'drizzle-orm';
import type { Database } from '../database/open.ts';

export interface MonitorStamps {
  /** Postgres' clock just before the read, epoch milliseconds: whatever is not in it was committed later. */
  readonly now: number;
  /** Each monitor's last stamp, epoch milliseconds. */
  readonly stamps: ReadonlyMap<string, number>;
}

/**
 * How far the clocks of the account's monitors have come (design §3 "Events and tailing"). Monitors without a stamp are left out.
 * @param since only stamps after this, epoch milliseconds; null: all
 */
export async function listMonitorStamps(
  db: Database,
  accountId: string,
  since: number | null,
): Promise<MonitorStamps> {
  const after = since === null ? '-infinity' : new Date(since).toISOString();
  const { rows } = await db.execute<{ now: number; id: string | null; stamp: number | null }>(sql`
    select floor(extract(epoch from c.now) * 1000)::float8 as now, m.id,
      (extract(epoch from m.last_timestamp) * 1000)::float8 as stamp
    from (select statement_timestamp() as now) c
    left join monitors m on m.account_id = ${accountId} and m.last_timestamp > ${after}::timestamptz`);
  const [first] = rows;
  if (!first) throw new Error('the clock returned no row');
  const stamps = new Map<string, number>();
  for (const { id, stamp } of rows) if (id !== null && stamp !== null) stamps.set(id, stamp);
  return { now: first.now, stamps };
}
