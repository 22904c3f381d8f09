import { GRACE_MS } from '@tocsin/core/schedule/slots';
import { MAX_PROOF_WAIT_MS } from '@tocsin/core/status/apply-check';
import { sql, type SQL } from 'drizzle-orm';
import type { Transaction } from '../database/open.ts';
import { tableOf } from '../database/sql.ts';

/** A conclusive result and the one before it, in epoch milliseconds. */
export interface ResultPair {
  readonly monitorId: string;
  /** Null without a previous result. */
  readonly lastAt: number | null;
  readonly at: number;
  /** The result may have waited this long for proof of the network, in milliseconds. */
  readonly proofMs: number;
}

/**
 * Returns when the first result of `monitor` after the one at `lastAt` was due in any region. It is due once a schedule has run for a whole
 * interval since then, because a schedule that ended earlier may have planned no check. Without a result, nothing is known since the monitor
 * was created.
 */
function dueAfter(lastAt: SQL): SQL {
  const dueAt = sql`greatest(s.starts_at, ${lastAt}) + make_interval(secs => s.interval_seconds)`;
  return sql`case when ${lastAt} is null then monitor.created_at else (
    select min(${dueAt}) from schedule_spans s
    where s.monitor_id = monitor.id and (s.ends_at is null or s.ends_at >= ${dueAt})) end`;
}

/** A result may be this late, because a check may time out and may begin a little later than planned. */
const TOLERANCE = sql.raw(
  `make_interval(secs => monitor.timeout_seconds + least(monitor.interval_seconds / 4.0, ${GRACE_MS / 1_000}))`,
);

/** A failure below HTTP may wait for proof of the network. A result not yet recorded may be such a failure. */
const PROOF = sql.raw(`interval '${MAX_PROOF_WAIT_MS} milliseconds'`);

/**
 * Records the silences that these results have ended. A result earlier than the previous one means that PostgreSQL's clock was ahead.
 * Silences after it are deleted, so that silences never overlap.
 */
export async function recordSilences(tx: Transaction, results: readonly ResultPair[]): Promise<void> {
  if (results.length === 0) return;
  await tx.execute(sql`
    with result as (select * from ${tableOf('u', results, {
      monitor_id: ['uuid', ({ monitorId }) => monitorId],
      last_at: ['timestamptz', ({ lastAt }) => lastAt],
      at: ['timestamptz', ({ at }) => at],
      proof_ms: ['int', ({ proofMs }) => proofMs],
    })}), withdrawn as (
      delete from silences s using result r
      where s.monitor_id = r.monitor_id and r.at < r.last_at and s.ends_at > r.at)
    insert into silences (monitor_id, starts_at, ends_at)
    select monitor.id, d.due_at, r.at from result r join monitors monitor on monitor.id = r.monitor_id
    cross join lateral (select ${dueAfter(sql`r.last_at`)} as due_at) d
    where r.at > d.due_at + ${TOLERANCE} + r.proof_ms * interval '1 millisecond'
    on conflict do nothing`);
}

interface SilenceRange {
  readonly monitorId: SQL;
  readonly from: SQL;
  readonly to: SQL;
  /** PostgreSQL's clock, read in the same transaction. */
  readonly now: SQL;
}

/** Lists the pauses of a monitor up to now, as ranges. A monitor is paused whenever it has had a span and none is running. */
function pausesOf(monitorId: SQL, now: SQL): SQL {
  return sql`
    select unnest(tstzmultirange(tstzrange(min(starts_at), greatest(min(starts_at), ${now})))
      - range_agg(tstzrange(starts_at, ends_at))) as period
    from schedule_spans where monitor_id = ${monitorId}`;
}

/**
 * Lists the times without results of a monitor that overlap a period, as a table with `starts_at` and `ends_at`, in order. These are silences
 * that a result has ended, the current silence, and pauses. Silences do not overlap, so of those that began before the period, only the last
 * one may reach into it.
 */
export function silencesOf({ monitorId, from, to, now }: SilenceRange): SQL {
  const silences = sql`
    select tstzrange(starts_at, ends_at) as period from silences where monitor_id = ${monitorId} and starts_at < ${to} and ends_at > ${from}
      and starts_at >= coalesce(
        (select max(starts_at) from silences where monitor_id = ${monitorId} and starts_at <= ${from}), '-infinity')
    union all
    select tstzrange(d.due_at, ${now}) from monitors monitor
    cross join lateral (select ${dueAfter(sql`monitor.last_checked_at`)} as due_at) d
    where monitor.id = ${monitorId} and d.due_at < least(${to}, ${now}) and ${now} > ${from}
      and (monitor.last_checked_at is null or ${now} > d.due_at + ${TOLERANCE} + ${PROOF})`;
  return sql`(
    select lower(u.period) as starts_at, upper(u.period) as ends_at from (
      select unnest(range_agg(p.period)) as period from (${silences} union all ${pausesOf(monitorId, now)}) p) u
    where lower(u.period) < ${to} and upper(u.period) > ${from})`;
}

/** Returns how long a monitor was silent or paused in a period, as an interval. */
export function silentTime(range: SilenceRange): SQL {
  return sql`(select coalesce(sum(least(ends_at, ${range.to}) - greatest(starts_at, ${range.from})), interval '0')
    from ${silencesOf(range)} silence)`;
}
