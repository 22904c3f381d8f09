import type { Period } from '@tocsin/core/stats/availability';
import { sql, type SQL } from 'drizzle-orm';
import type { Transaction } from '../database/open.ts';
import { tableOf } from '../database/sql.ts';

/** A silence that a result has ended. */
export interface EndedSilence extends Period {
  readonly monitorId: string;
  /** What is shorter is no silence, milliseconds. */
  readonly minMs: number;
}

/** Records silences. Each begins with the monitor's schedule at the earliest: before a change of the interval, checks were further apart. */
export async function recordSilences(tx: Transaction, ended: readonly EndedSilence[]): Promise<void> {
  if (ended.length === 0) return;
  await tx.execute(sql`
    insert into silences (monitor_id, starts_at, ends_at)
    select u.monitor_id, s.starts_at, u.ends_at from ${tableOf('u', ended, {
      monitor_id: ['uuid', ({ monitorId }) => monitorId],
      starts_at: ['timestamptz', ({ from }) => from],
      ends_at: ['timestamptz', ({ to }) => to],
      min_ms: ['int', ({ minMs }) => minMs],
    })} cross join lateral (
      select greatest(u.starts_at, min(starts_at)) as starts_at from schedule_spans
      where monitor_id = u.monitor_id and ends_at is null) s
    where u.ends_at - s.starts_at >= u.min_ms * interval '1 millisecond'
    on conflict do nothing`);
}

/** How much of a time of a monitor was silent, as an interval. */
export function silentTime(monitorId: SQL, from: SQL, to: SQL): SQL {
  return sql`(select coalesce(sum(least(ends_at, ${to}) - greatest(starts_at, ${from})), interval '0') from silences s
    where s.monitor_id = ${monitorId} and starts_at < ${to} and ends_at > ${from})`;
}
