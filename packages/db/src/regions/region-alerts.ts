import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Database } from '../database/open.ts';
import { arrayOf, epochMs, query, tableOf } from '../database/sql.ts';
import { type LateRegions, MAX_LATE_REGIONS } from './late-regions.ts';

/** A region that is late for less than this is not reported, because PostgreSQL may have been unavailable, or its clock may have jumped. */
const CONFIRM_SECONDS = 15;
/** A recovery is reported only after this time, because the region may be late again at once. */
const SETTLE_SECONDS = 30;
/** With these attempts and the delays below, a receiver may be unavailable for an hour. */
export const MAX_ALERT_ATTEMPTS = 16;
const MAX_RETRY_SECONDS = 300;

/** Records which regions have become late, and which record results again. Every notifier may call it at any time. */
export async function noteLateRegions(db: Database, late: LateRegions): Promise<void> {
  const rows = [...late].map(([region, { since }]) => ({ region, since }));
  if (rows.length > 0) {
    // A region that is late again before its recovery was reported counts as late all the time.
    const table = tableOf('u', rows, {
      region: ['text', ({ region }) => region],
      late_since: ['timestamptz', ({ since }) => since],
    });
    await db.execute(sql`
      insert into region_alerts as a (region, late_since, next_attempt_at)
      select u.region, u.late_since, now() + make_interval(secs => ${CONFIRM_SECONDS}::int) from ${table}
      on conflict (region) do update set recovered_at = null, next_attempt_at = null
      where a.recovered_at is not null and a.attempts = 0`);
  }
  // The list may be incomplete.
  if (rows.length >= MAX_LATE_REGIONS) return;
  const isBack = sql`recovered_at is null and region <> all(${arrayOf('text', [...late.keys()])})`;
  await db.execute(sql`delete from region_alerts where ${isBack} and attempts = 0`);
  await db.execute(sql`
    update region_alerts set recovered_at = now(), message_id = gen_random_uuid(), attempts = 0,
      next_attempt_at = now() + make_interval(secs => ${SETTLE_SECONDS}::int)
    where ${isBack} and next_attempt_at is null`);
}

const claimedAlert = z.object({
  region: z.string(),
  messageId: z.string(),
  /** Epoch milliseconds. */
  lateSince: z.number(),
  recoveredAt: z.number().nullable(),
  attempts: z.number(),
  claimedAt: z.number(),
});

/** A message to the operators that a region is late or, with `recoveredAt`, on time again. */
export type RegionAlert = Readonly<z.output<typeof claimedAlert>>;

/** Claims a due message, and plans its next attempt in case this process dies. Returns null if none is due. */
export async function claimRegionAlert(db: Database): Promise<RegionAlert | null> {
  const [alert = null] = await query(db, claimedAlert)`
    with due as (
      select region from region_alerts where next_attempt_at <= now()
      order by next_attempt_at limit 1 for update skip locked
    )
    update region_alerts a set attempts = a.attempts + 1,
      next_attempt_at = now() + least(15 * 2 ^ least(a.attempts, 10), ${MAX_RETRY_SECONDS}::int) * interval '1 second'
    from due where due.region = a.region
    returning a.region, a.message_id, ${epochMs(sql`a.late_since`)} as late_since,
      ${epochMs(sql`a.recovered_at`)} as recovered_at, a.attempts, floor(${epochMs(sql`now()`)}) as claimed_at`;
  return alert;
}

/** Ends a message that was delivered, or failed too often. Deletes the row of a region that records results again. */
export async function endRegionAlert(db: Database, { region, messageId }: RegionAlert): Promise<void> {
  await db.execute(sql`
    delete from region_alerts
    where region = ${region} and message_id = ${messageId} and recovered_at is not null`);
  await db.execute(sql`
    update region_alerts set next_attempt_at = null
    where region = ${region} and message_id = ${messageId} and recovered_at is null`);
}
