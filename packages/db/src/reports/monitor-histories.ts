import type { MonitorHistory, Period } from '@tocsin/core/stats/availability';
import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Transaction } from '../database/open.ts';
import { arrayOf, epochMs, query, timestamptz } from '../database/sql.ts';

const historyRow = z.object({
  monitorId: z.string(),
  openedAt: z.array(z.number()),
  /** Null: still open. */
  resolvedAt: z.array(z.number().nullable()),
  /** When maintenance began or ended, in order. */
  toggledAt: z.array(z.number()),
  silenceStartsAt: z.array(z.number()),
  silenceEndsAt: z.array(z.number()),
  /** Whether the monitor was in maintenance at the end of the period. */
  endsCovered: z.boolean(),
});

type History = Omit<MonitorHistory, 'createdAt'>;

/**
 * The incidents and silences of monitors that overlap a period, and their maintenance in it. Status changes into and out of maintenance are
 * kept as long as incidents. The first change after the period, or else the current status, tells in which status a monitor was at its end.
 */
export async function readHistories(
  tx: Transaction,
  monitorIds: readonly string[],
  period: Period,
): Promise<Map<string, History>> {
  const [from, to] = [timestamptz(period.from), timestamptz(period.to)];
  const overlapping = sql`
    from incidents i where i.monitor_id = m.id and i.opened_at < ${to} and (i.resolved_at is null or i.resolved_at > ${from})
    order by i.opened_at`;
  const silent = sql`
    from silences s where s.monitor_id = m.id and s.starts_at < ${to} and s.ends_at > ${from} order by s.starts_at`;
  const rows = await query(tx, historyRow)`
    select m.id as monitor_id,
      array(select ${epochMs(sql`i.opened_at`)} ${overlapping}) as opened_at,
      array(select ${epochMs(sql`i.resolved_at`)} ${overlapping}) as resolved_at,
      array(select ${epochMs(sql`s.starts_at`)} ${silent}) as silence_starts_at,
      array(select ${epochMs(sql`s.ends_at`)} ${silent}) as silence_ends_at,
      array(
        select ${epochMs(sql`c.timestamp`)} from status_changes c
        where c.monitor_id = m.id and c.timestamp >= ${from} and c.timestamp < ${to}
          and 'MAINTENANCE' in (c.from_status, c.to_status)
        order by c.timestamp) as toggled_at,
      'MAINTENANCE' = coalesce(
        (select c.from_status from status_changes c
          where c.monitor_id = m.id and c.timestamp >= ${to} order by c.timestamp limit 1),
        m.status) as ends_covered
    from monitors m where m.id = any(${arrayOf('uuid', monitorIds)})`;
  return new Map(
    rows.map(
      ({ monitorId, openedAt, resolvedAt, silenceStartsAt, silenceEndsAt, toggledAt, endsCovered }) => [
        monitorId,
        {
          unknown: silenceStartsAt.map((at, index) => ({ from: at, to: silenceEndsAt[index] ?? at })),
          incidents: openedAt.map((opened, index) => ({ from: opened, to: resolvedAt[index] ?? Infinity })),
          maintenance: toPeriods(toggledAt, endsCovered, period),
        },
      ],
    ),
  );
}

/** Each toggle begins or ends maintenance; which of both follows from the state at the end. */
function toPeriods(toggledAt: readonly number[], endsCovered: boolean, { from, to }: Period): Period[] {
  const beginsCovered = endsCovered !== (toggledAt.length % 2 === 1);
  const times = [...(beginsCovered ? [from] : []), ...toggledAt, ...(endsCovered ? [to] : [])];
  return times.flatMap((end, index) =>
    index % 2 === 0 ? [] : [{ from: times[index - 1] ?? from, to: end }],
  );
}
