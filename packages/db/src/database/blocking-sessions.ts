import type { Client } from 'pg';

/** A session that holds a lock another one waits for. */
export interface BlockingSession {
  readonly pid: number;
  readonly application: string;
  /** As in `pg_stat_activity`, such as `idle in transaction`; null where it may not be seen. */
  readonly state: string | null;
  /** When its transaction began, ISO 8601; null where it has none. */
  readonly transactionSince: string | null;
}

/** The sessions that this one waits for at the moment. @param watcher another connection to the same database */
export async function readBlockingSessions(watcher: Client, pid: number): Promise<BlockingSession[]> {
  const { rows } = await watcher.query<{
    pid: number;
    application_name: string | null;
    state: string | null;
    xact_start: Date | null;
  }>(
    `select b.pid, a.application_name, a.state, a.xact_start
     from (select distinct unnest(pg_blocking_pids($1)) as pid) b left join pg_stat_activity a on a.pid = b.pid order by b.pid`,
    [pid],
  );
  return rows.map((row) => ({
    pid: row.pid,
    application: row.application_name ?? '',
    state: row.state,
    transactionSince: row.xact_start?.toISOString() ?? null,
  }));
}

/** For a message: which sessions, and how they can be found. */
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
