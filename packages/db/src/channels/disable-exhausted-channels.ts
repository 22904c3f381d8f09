import { sql } from 'drizzle-orm';
import type { Database } from '../database/open.ts';

/** The longest pause of the retry schedule: 8 h and a fifth. A last attempt that is older than this was followed by none. */
const LONGEST_PAUSE_HOURS = 10;

/**
 * Disables the channels that have failed for 72 hours without one success (design §4 "Delivery"); what they still had to send is
 * then to be held: `holdForDisabledChannels`. By the clock, not by an attempt: the last attempt of a lone delivery comes earlier.
 * But attempts must have been made to the end of the 72 hours: while every notifier is away, nobody knows how a channel is.
 * @returns the ids of the channels it disabled
 */
export async function disableExhaustedChannels(db: Database): Promise<string[]> {
  const { rows } = await db.execute<{ id: string }>(sql`
    update channels set enabled = false, disabled_reason = 'Every attempt of the last 72 hours failed.'
    where enabled and failing_since <= now() - interval '72 hours'
      and last_failed_at >= failing_since + make_interval(hours => ${72 - LONGEST_PAUSE_HOURS})
    returning id`);
  return rows.map(({ id }) => id);
}
