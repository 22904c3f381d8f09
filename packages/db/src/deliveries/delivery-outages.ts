import { sql, type SQL } from 'drizzle-orm';
import type { Database } from '../database/open.ts';

/** Shorter outages do not matter for the 72 hours of a delivery or a channel. */
const MIN_OUTAGE = sql`interval '5 minutes'`;
/** Older outages count after all, so that deliveries to a lone receiver are abandoned in the end if it is gone. */
const MAX_UNCOUNTED = sql`interval '14 days'`;
/** A channel whose last failure is older is not being attempted. */
const RECENT = sql`interval '10 minutes'`;

/** Returns the time since `start` without outages as an interval, or null if `start` is null. */
export function countedTime(start: SQL): SQL {
  return sql`(now() - ${start} - coalesce((
    select sum(coalesce(o.ended_at, now()) - greatest(o.started_at, ${start}, now() - ${MAX_UNCOUNTED})) from delivery_outages o
    where o.started_at < now() and coalesce(o.ended_at, now()) > greatest(${start}, now() - ${MAX_UNCOUNTED})), interval '0'))`;
}

/** Begins an outage if no attempt gets a response. Another enabled channel must fail too, because otherwise one receiver may be the cause. */
export async function beginOutage(db: Database, channelId: string): Promise<void> {
  const isOther = sql`c.id <> ${channelId} and c.enabled and c.deleted_at is null`;
  await db.execute(sql`
    insert into delivery_outages (started_at)
    select now() where not exists (select from delivery_outages where ended_at is null) and (
      exists (select from channels c where ${isOther} and c.failing_since is not null and c.last_failed_at > now() - ${RECENT})
      or not exists (select from channels c where ${isOther}))
    on conflict do nothing`);
}

/** Ends the outage, if there is one, because a receiver has responded. */
export async function endOutage(db: Database): Promise<void> {
  await db.execute(
    sql`delete from delivery_outages where ended_at is null and started_at > now() - ${MIN_OUTAGE}`,
  );
  await db.execute(sql`update delivery_outages set ended_at = now() where ended_at is null`);
}

/** Deletes outages that are old enough to count after all. */
export async function deleteOldOutages(db: Database): Promise<void> {
  await db.execute(sql`delete from delivery_outages where ended_at < now() - ${MAX_UNCOUNTED}`);
}
