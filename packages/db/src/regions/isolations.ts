import { sql, type SQL } from 'drizzle-orm';
import { z } from 'zod';
import type { Database, Queryable } from '../database/open.ts';
import { clockNow, epochMs, query, tableOf } from '../database/sql.ts';

/** After this time without a renewal, a checker is dead or cannot reach PostgreSQL. */
const EXPIRES_AFTER_SECONDS = 20;

const expiresAt = sql`renewed_at + make_interval(secs => ${EXPIRES_AFTER_SECONDS}::int)`;

/** Condition that a row of `region_isolations` shows its region as isolated now. */
export const IS_LIVE: SQL = sql`(ended_at is null and ${expiresAt} > now())`;

/** An account's monitors in a region that a checker cannot check, because none of their canaries responds. */
export interface Isolation {
  readonly accountId: string;
  readonly region: string;
  readonly checkerId: string;
  readonly ageMs: number;
}

/** Reports that an isolation has begun or lasts. Repeat it every five seconds, because it expires after 20. @throws if the account does not exist */
export async function renewIsolation(db: Database, isolation: Isolation): Promise<void> {
  await saveIsolation(db, isolation, sql`null::timestamptz`);
}

/** Reports that an isolation has ended, even if its beginning could not be reported. Repeat it until it succeeds, but not after that. */
export async function endIsolation(db: Database, isolation: Isolation): Promise<void> {
  await saveIsolation(db, isolation, clockNow);
}

/** Writes the row of a process for a region of an account. A row that has ended belongs to an earlier isolation. */
async function saveIsolation(
  db: Database,
  { accountId, region, checkerId, ageMs }: Isolation,
  endedAt: SQL,
): Promise<void> {
  await db.execute(sql`
    insert into region_isolations as i (account_id, region, checker_id, since, renewed_at, ended_at)
    values (${accountId}, ${region}, ${checkerId}, ${clockNow} - ${ageMs}::float8 * interval '1 millisecond', ${clockNow}, ${endedAt})
    on conflict (account_id, region, checker_id) do update set
      since = case when i.ended_at is null then i.since else excluded.since end,
      renewed_at = excluded.renewed_at,
      ended_at = excluded.ended_at`);
}

const finishedIsolation = z.object({
  accountId: z.string(),
  region: z.string(),
  /** When the region was connected again, or the last checker that reported an isolation disappeared, in epoch milliseconds. */
  finishedAt: z.number(),
  checkers: z.array(z.object({ id: z.string(), renewedAt: z.string() })),
});

/** A region of an account that was isolated and no longer is. */
export type FinishedIsolation = Readonly<z.output<typeof finishedIsolation>>;

/** Maximum isolations per call. They are chosen at random, so that failing ones do not hide the others. */
const MAX_LISTED = 1_000;

/** Lists the regions that no checker reports as isolated any more, first finished first. */
export async function listFinishedIsolations(db: Queryable): Promise<FinishedIsolation[]> {
  return query(db, finishedIsolation)`
    select * from (
      select account_id, region,
        floor(${epochMs(sql`max(coalesce(ended_at, ${expiresAt}))`)}) as finished_at,
        jsonb_agg(jsonb_build_object('id', checker_id, 'renewedAt', renewed_at)) as checkers
      from region_isolations group by account_id, region having not bool_or(${IS_LIVE})
      order by random() limit ${MAX_LISTED}) f
    order by finished_at, account_id, region`;
}

const recheckedMonitor = z.object({
  monitorId: z.string(),
  revision: z.number(),
  intervalSeconds: z.number(),
});

export async function listMonitorsOfRegion(
  db: Queryable,
  { accountId, region }: Pick<Isolation, 'accountId' | 'region'>,
): Promise<z.output<typeof recheckedMonitor>[]> {
  return query(db, recheckedMonitor)`
    select m.id as monitor_id, m.revision, m.interval_seconds
    from monitors m join monitor_regions r on r.monitor_id = m.id
    where m.account_id = ${accountId} and r.region = ${region} and m.enabled`;
}

/** Deletes isolations as they were listed. An isolation that was reported in the meantime stays. */
export async function deleteIsolation(
  db: Queryable,
  { accountId, region, checkers }: FinishedIsolation,
): Promise<void> {
  await db.execute(sql`
    delete from region_isolations i
    using ${tableOf('u', checkers, {
      id: ['uuid', ({ id }) => id],
      renewed_at: ['timestamptz', ({ renewedAt }) => renewedAt],
    })}
    where i.account_id = ${accountId} and i.region = ${region} and i.checker_id = u.id
      and i.renewed_at = u.renewed_at`);
}
