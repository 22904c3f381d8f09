import { drizzle } from 'drizzle-orm/node-postgres';
import { sql } from 'drizzle-orm';
import type { Client } from 'pg';
import { z } from 'zod';
import { epochMs, query } from './sql.ts';

const blockingSession = z.object({
  pid: z.number(),
  application: z
    .string()
    .nullable()
    .transform((name) => name ?? ''),
  /** As in `pg_stat_activity`, such as `idle in transaction`; null if it may not be seen. */
  state: z.string().nullable(),
  /** When its transaction began, ISO 8601; null without one. */
  transactionSince: z
    .number()
    .nullable()
    .transform((time) => (time === null ? null : new Date(time).toISOString())),
});

/** A session that holds a lock for which another one waits. */
export type BlockingSession = Readonly<z.output<typeof blockingSession>>;

/** The sessions that the session `pid` waits for now. @param watcher another connection to the same database */
export async function readBlockingSessions(watcher: Client, pid: number): Promise<BlockingSession[]> {
  return query(drizzle(watcher), blockingSession)`
    select b.pid, a.application_name as application, a.state, ${epochMs(sql`a.xact_start`)} as "transactionSince"
    from (select distinct unnest(pg_blocking_pids(${pid})) as pid) b left join pg_stat_activity a on a.pid = b.pid order by b.pid`;
}

/** Describes the sessions in a message, so that they can be found. */
export function describeSessions(sessions: readonly BlockingSession[]): string {
  if (sessions.length === 0) return 'sessions that have ended meanwhile';
  return sessions
    .map(({ pid, application, state, transactionSince }) =>
      [`session ${pid}`, application, state, transactionSince && `transaction since ${transactionSince}`]
        .filter((part) => part !== null && part !== '')
        .join(', '),
    )
    .join('; ');
}
