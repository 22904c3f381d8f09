import type { WebhookPayload } from '@tocsin/contracts/deliveries/webhook';
import { errorReasonSchema } from '@tocsin/contracts/monitors/events';
import { MonitorClock } from '@tocsin/core/status/monitor-clock';
import { sql, type SQL } from 'drizzle-orm';
import { z } from 'zod';
import { selectsAll } from '../assignments/assignments.ts';
import type { Database, Transaction } from '../database/open.ts';
import { arrayOf, epochMs, query, queryColumn, tableOf } from '../database/sql.ts';
import { type RefusedRecord, tryTogether } from '../database/try-alone.ts';
import { readCovered } from '../maintenance-windows/coverage.ts';
import { renderDeliveries } from './render-deliveries.ts';
import { deliveries } from './table.ts';

/** Open incidents that one step reads. */
const MAX_INCIDENTS = 500;
/** Monitors that one step reminds of. Each may have a reminder for each of its channels. */
const MAX_MONITORS = 50;
/** Reminders that one transaction makes. The next step continues. */
const MAX_REMINDERS = 500;
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

/**
 * Selects the monitors that channels are reminded of, which are DOWN with an incident that nobody has acknowledged. After a pause, a monitor
 * may have recovered, so its next check comes first.
 */
export const REMINDED: SQL = sql`(
  select m.id, m.account_id, m.status_since, i.id as incident_id, i.cause, i.region
  from monitors m join incidents i on i.monitor_id = m.id and i.resolved_at is null and i.acknowledged_at is null
  where m.status = 'DOWN' and m.last_checked_at >= (
    select min(s.starts_at) from schedule_spans s where s.monitor_id = m.id and s.ends_at is null))`;

export interface RemindOptions {
  /** Address of the dashboard for links in webhooks, or null. */
  readonly publicUrl: string | null;
  readonly onRefused: (record: RefusedRecord) => void;
  /** Called after a transaction made reminders. */
  readonly onDue: () => void;
  /** Stops after the current transaction. */
  readonly signal: AbortSignal;
  /** Defaults to PostgreSQL's clock. */
  readonly now?: Date | undefined;
}

/**
 * Makes the reminders that are due: `monitor.down` again for monitors that stay DOWN with an incident that nobody has acknowledged.
 * 1. Accounts take turns, so that none waits for all reminders of another.
 * 2. It locks the monitors, so that a status change comes before the reminder or after it, as their timestamps do.
 * 3. The id of a reminder follows from its due time, so that several notifiers, or one after a crash, make it once.
 * Of the due times that have passed while nothing ran or an earlier reminder was pending, only the last one counts.
 */
export async function remind(db: Database, options: RemindOptions): Promise<void> {
  const { onDue, signal } = options;
  const accountIds = await queryColumn(db)`
    select distinct account_id from channels where remind_after is not null and enabled and deleted_at is null`;
  let places = accountIds.map((accountId) => ({ accountId, after: BEFORE_ALL }));
  while (places.length > 0) {
    const following: typeof places = [];
    for (const { accountId, after } of places) {
      if (signal.aborted) return;
      const { count, next } = await remindAccount(db, accountId, after, options);
      if (count > 0) onDue();
      if (next !== null) following.push({ accountId, after: next });
    }
    places = following;
  }
}

/** Makes some reminders for monitors with a later id than `after`. @returns how many, and where the next step continues. Null at the end */
async function remindAccount(
  db: Database,
  accountId: string,
  after: string,
  { publicUrl, onRefused, ...options }: RemindOptions,
): Promise<{ count: number; next: string | null }> {
  const now = options.now === undefined ? sql`now()` : sql`${options.now.toISOString()}::timestamptz`;
  const page = await queryColumn(db)`
    select monitor_id from incidents where resolved_at is null and account_id = ${accountId} and monitor_id > ${after}
    order by monitor_id limit ${MAX_INCIDENTS}`;
  if (page.length === 0) return { count: 0, next: null };
  const dueIds = await queryColumn(db)`
    select distinct monitor_id from ${dueReminders(page, now)} r order by monitor_id limit ${MAX_MONITORS}`;
  const records = dueIds.map((id) => ({ id }));
  const { results } = await tryTogether(
    db,
    records,
    (tx, monitors) =>
      remindOf(
        tx,
        monitors.map(({ id }) => id),
        now,
        publicUrl,
      ),
    onRefused,
  );
  if (results.length >= MAX_REMINDERS) return { count: results.length, next: after };
  const isWhole = dueIds.length < MAX_MONITORS;
  const last = isWhole ? page.at(-1) : dueIds.at(-1);
  const isLast = isWhole && page.length < MAX_INCIDENTS;
  return { count: results.length, next: isLast ? null : (last ?? null) };
}

/** Selects the due reminders of monitors. Each channel counts its due times from when the monitor went DOWN. */
function dueReminders(monitorIds: readonly string[], now: SQL): SQL {
  return sql`(
    select m.id as monitor_id, m.account_id, c.id as channel_id, m.cause, m.region, t.id as status_change_id
    from ${REMINDED} m
    join channels c on c.account_id = m.account_id and c.remind_after is not null
      and c.enabled and c.deleted_at is null and (c.events is null or 'monitor.down' = any(c.events))
      and (${selectsAll('channel', 'c')}
        or exists (select from channel_monitors a where a.channel_id = c.id and a.monitor_id = m.id))
    cross join lateral (
      select floor(extract(epoch from ${now} - m.status_since) / c.remind_after) as number) n
    cross join lateral (
      select md5(concat_ws(' ', m.incident_id, extract(epoch from m.status_since), c.remind_after, n.number))::uuid as id,
        m.status_since + make_interval(secs => n.number * c.remind_after) as due_at) t
    where m.id = any(${arrayOf('uuid', monitorIds)}) and n.number >= 1
      and not exists (
        select from deliveries d where d.status_change_id = t.id and d.event = 'monitor.down' and d.channel_id = c.id)
      and not exists (
        select from deliveries d where d.channel_id = c.id and d.monitor_id = m.id and d.reminder
          and (d.state = 'pending' or d.delivered_at >= t.due_at)))`;
}

const lockedRow = z.object({
  id: z.string(),
  accountId: z.string(),
  name: z.string(),
  runbookUrl: z.string().nullable(),
  lastTimestamp: z.number().nullable(),
  now: z.number(),
});
const reminderRow = z.object({
  monitorId: z.string(),
  accountId: z.string(),
  channelId: z.string(),
  cause: errorReasonSchema.nullable(),
  region: z.string(),
  statusChangeId: z.string(),
});

/** Makes the reminders of some monitors. Skips those that another session has locked. @returns an item for each reminder */
async function remindOf(
  tx: Transaction,
  monitorIds: readonly string[],
  now: SQL,
  publicUrl: string | null,
): Promise<string[]> {
  const locked = await query(tx, lockedRow)`
    select id, account_id, name, runbook_url, ${epochMs(sql`last_timestamp`)} as last_timestamp, floor(${epochMs(now)}) as now
    from monitors where id = any(${arrayOf('uuid', monitorIds)}) order by id for no key update skip locked`;
  // A window may have begun before its monitors enter maintenance.
  const covered = await readCovered(tx, locked);
  const eligible = locked.filter(({ id }) => !covered.has(id));
  const monitors = new Map(
    eligible.map((row) => [
      row.id,
      { ...row, timestamp: new MonitorClock(row.lastTimestamp, row.now).next() },
    ]),
  );
  // This is a separate statement after the locks, because one that locks and reads would see the reminders as they were before the lock.
  const due = await query(tx, reminderRow)`
    select r.* from (select * from ${dueReminders([...monitors.keys()], now)} r limit ${MAX_REMINDERS}) r
    cross join lateral (
      select from channels c where c.id = r.channel_id and c.enabled and c.deleted_at is null for share skip locked) c`;
  const reminders = due.flatMap(({ cause, region, ...row }) => {
    const monitor = monitors.get(row.monitorId);
    if (monitor === undefined) return [];
    const timestamp = new Date(monitor.timestamp);
    const payload = payloadOf({ ...monitor, timestamp }, { cause, region });
    const reminder = { event: 'monitor.down', timestamp, payload, reminder: true, state: 'pending' } as const;
    return Object.assign(row, reminder);
  });
  if (reminders.length === 0) return [];
  const made = await tx.insert(deliveries).values(reminders).returning({ id: deliveries.id });
  await tx.execute(sql`
    update monitors m set last_timestamp = r.timestamp
    from ${tableOf('r', reminders, {
      id: ['uuid', ({ monitorId }) => monitorId],
      timestamp: ['timestamptz', ({ timestamp }) => timestamp],
    })}
    where m.id = r.id`);
  const ids = made.map(({ id }) => id);
  await renderDeliveries(tx, ids, publicUrl);
  return ids;
}

/** The status has not changed, and no check caused the event. */
function payloadOf(
  { id, name, runbookUrl, timestamp }: Omit<z.output<typeof lockedRow>, 'now'> & { readonly timestamp: Date },
  { cause, region }: Pick<z.output<typeof reminderRow>, 'cause' | 'region'>,
): string {
  return JSON.stringify({
    event: 'monitor.down',
    monitorId: id,
    monitorName: name,
    status: 'DOWN',
    previousStatus: 'DOWN',
    latency: 0,
    errorReason: cause ?? 'UNKNOWN_ERROR',
    region,
    timestamp: timestamp.toISOString(),
    runbookUrl,
  } satisfies WebhookPayload);
}
