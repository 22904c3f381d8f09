import {
  type AvailabilityTimes,
  type MaintenanceMode,
  measureAvailability,
  type MonitorHistory,
  type Period,
} from '@tocsin/core/stats/availability';
import { sql, type SQL } from 'drizzle-orm';
import { z } from 'zod';
import type { Transaction } from '../database/open.ts';
import { arrayOf, epochMs, query, timestamptz } from '../database/sql.ts';
import type { MonitorRow } from '../monitors/table.ts';
import { silencesOf } from '../silences/silences.ts';

const historyRow = z.object({
  monitorId: z.string(),
  openedAt: z.array(z.number()),
  /** Times when incidents were resolved. Null for open ones. */
  resolvedAt: z.array(z.number().nullable()),
  /** Times when maintenance began or ended, in order. */
  toggledAt: z.array(z.number()),
  silenceStartsAt: z.array(z.number()),
  silenceEndsAt: z.array(z.number()),
  /** True if the monitor was in maintenance at the end of the period. */
  endsCovered: z.boolean(),
});

type History = Omit<MonitorHistory, 'createdAt'>;

type MeasurableMonitor = Pick<MonitorRow, 'id' | 'createdAt'>;

/** A period, and PostgreSQL's clock when it was read. Times are epoch milliseconds. */
export interface MeasuredPeriod extends Period {
  readonly now: number;
}

interface Measured<Monitor> {
  readonly monitor: Monitor;
  readonly times: AvailabilityTimes;
}

/** Measures how long monitors were up and down in a period, in the given order. All figures come from here, so that they agree everywhere. */
export async function measureMonitors<Monitor extends MeasurableMonitor>(
  tx: Transaction,
  monitors: readonly Monitor[],
  period: MeasuredPeriod,
  mode: MaintenanceMode = 'excluded',
): Promise<Measured<Monitor>[]> {
  const ids = monitors.map(({ id }) => id);
  const histories = await readHistories(tx, ids, period);
  return monitors.map((monitor) => {
    const { incidents = [], maintenance = [], unknown = [] } = histories.get(monitor.id) ?? {};
    const history = { createdAt: monitor.createdAt.getTime(), incidents, maintenance, unknown };
    return { monitor, times: measureAvailability(history, period, mode) };
  });
}

/** Reads incidents, silences and maintenance in a period. The first status change after it, or else the current status, gives the last status. */
async function readHistories(
  tx: Transaction,
  monitorIds: readonly string[],
  period: MeasuredPeriod,
): Promise<Map<string, History>> {
  const [from, to, now] = [period.from, period.to, period.now].map(timestamptz) as [SQL, SQL, SQL];
  const overlapping = sql`
    from incidents i where i.monitor_id = m.id and i.opened_at < ${to} and (i.resolved_at is null or i.resolved_at > ${from})
    order by i.opened_at`;
  const rows = await query(tx, historyRow)`
    select m.id as monitor_id,
      array(select ${epochMs(sql`i.opened_at`)} ${overlapping}) as opened_at,
      array(select ${epochMs(sql`i.resolved_at`)} ${overlapping}) as resolved_at,
      silent.starts_at as silence_starts_at, silent.ends_at as silence_ends_at,
      array(
        select ${epochMs(sql`c.timestamp`)} from status_changes c
        where c.monitor_id = m.id and c.timestamp >= ${from} and c.timestamp < ${to}
          and 'MAINTENANCE' in (c.from_status, c.to_status)
        order by c.timestamp) as toggled_at,
      'MAINTENANCE' = coalesce(
        (select c.from_status from status_changes c
          where c.monitor_id = m.id and c.timestamp >= ${to} order by c.timestamp limit 1),
        m.status) as ends_covered
    from monitors m
    cross join lateral (
      select coalesce(array_agg(${epochMs(sql`s.starts_at`)} order by s.starts_at), '{}') as starts_at,
        coalesce(array_agg(${epochMs(sql`s.ends_at`)} order by s.starts_at), '{}') as ends_at
      from ${silencesOf({ monitorId: sql`m.id`, from, to, now })} s) silent
    where m.id = any(${arrayOf('uuid', monitorIds)})`;
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

/** Each toggle begins or ends maintenance. The state at the end shows which. */
function toPeriods(toggledAt: readonly number[], endsCovered: boolean, { from, to }: Period): Period[] {
  const beginsCovered = endsCovered !== (toggledAt.length % 2 === 1);
  const times = [...(beginsCovered ? [from] : []), ...toggledAt, ...(endsCovered ? [to] : [])];
  return times.flatMap((end, index) =>
    index % 2 === 0 ? [] : [{ from: times[index - 1] ?? from, to: end }],
  );
}
