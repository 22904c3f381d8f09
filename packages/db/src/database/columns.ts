import { sql } from 'drizzle-orm';
import { timestamp, type PgTimestampBuilderInitial } from 'drizzle-orm/pg-core';

/** An instant with millisecond precision: what the wire can carry, so that reading back equals writing. */
export function instant(name: string): PgTimestampBuilderInitial<string> {
  return timestamp(name, { withTimezone: true, precision: 3, mode: 'date' });
}

/** Postgres' clock in whole milliseconds: the only clock that stamps rows. */
export const clockNow = sql`date_trunc('milliseconds', clock_timestamp())`;
