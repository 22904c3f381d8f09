import type { Incident } from '@tocsin/contracts/incidents/incident';
import { type Timeline, TIMELINE_KINDS, type TimelineEntry } from '@tocsin/contracts/incidents/timeline';
import type { StatusChange } from '@tocsin/contracts/monitors/events';
import { and, asc, desc, eq, inArray, isNull, sql } from 'drizzle-orm';
import { z } from 'zod';
import { selectsAll } from '../assignments/assignments.ts';
import { listAuditEntries } from '../audit-log/read-audit-log.ts';
import { channels } from '../channels/table.ts';
import type { Database } from '../database/open.ts';
import { epochMs, query, readClock, timestamptz } from '../database/sql.ts';
import { toDelivery } from '../deliveries/read-deliveries.ts';
import { attempts, deliveries } from '../deliveries/table.ts';
import { tailStatusChanges } from '../status-changes/tail-status-changes.ts';
import { getIncident, listNotes } from './read-incidents.ts';
import { type IncidentPeriod, sampleChecks } from './sample-checks.ts';

/** Changes of the monitor within this time before the incident may have caused it. */
const CONFIGURATION_MS = 24 * 3_600_000;
/** Maximum records of each kind. Notes and checks have separate limits. */
const MAX_RECORDS = 200;

/** Reads what happened around an incident, in chronological order. Null if the timeline is no longer wanted. @throws AppError not_found */
export async function readTimeline(
  db: Database,
  accountId: string,
  id: string,
  isWanted: () => boolean = () => true,
): Promise<Timeline | null> {
  const incident = await getIncident(db, accountId, id);
  const { monitorId, openedAt, resolvedAt } = incident;
  const period = {
    monitorId,
    openedAt: Date.parse(openedAt),
    endsAt: resolvedAt === null ? await readClock(db) : Date.parse(resolvedAt),
    isResolved: resolvedAt !== null,
  };
  const range = { monitorId, after: period.openedAt - 1, upTo: period.endsAt };
  const changes = await tailStatusChanges(db, accountId, [range], MAX_RECORDS + 1);
  const lists = [
    toEntries(changes.filter(({ timestamp }) => timestamp !== openedAt && timestamp !== resolvedAt)),
  ];
  for (const list of [
    () => listDeliveries(db, accountId, changes),
    () => listMaintenance(db, accountId, period),
    () => listConfiguration(db, accountId, period),
    () => listAcknowledgements(db, accountId, incident),
  ]) {
    if (!isWanted()) return null;
    lists.push(await list());
  }
  if (!isWanted()) return null;
  const { checks, complete } = await sampleChecks(db, period);
  const notes = await listNotes(db, id);
  const entries: TimelineEntry[] = [
    ...entriesOf(incident),
    ...lists.flatMap((list) => list.slice(0, MAX_RECORDS)),
    ...checks.map((check) => ({ kind: 'check' as const, timestamp: check.timestamp, check })),
    ...notes.map((note) => ({ kind: 'note' as const, timestamp: note.createdAt, note })),
  ];
  return {
    entries: entries.sort(compareEntries),
    complete: complete && lists.every(({ length }) => length <= MAX_RECORDS),
  };
}

function compareEntries(one: TimelineEntry, other: TimelineEntry): number {
  return (
    Date.parse(one.timestamp) - Date.parse(other.timestamp) ||
    TIMELINE_KINDS.indexOf(one.kind) - TIMELINE_KINDS.indexOf(other.kind)
  );
}

function entriesOf({ openedAt, resolvedAt }: Incident): TimelineEntry[] {
  return [
    { kind: 'opened', timestamp: openedAt },
    ...(resolvedAt === null ? [] : [{ kind: 'resolved' as const, timestamp: resolvedAt }]),
  ];
}

async function listAcknowledgements(
  db: Database,
  accountId: string,
  { id, openedAt }: Incident,
): Promise<TimelineEntry[]> {
  const query = { targetId: id, since: openedAt, limit: MAX_RECORDS + 1 };
  const changes = await listAuditEntries(db, accountId, query);
  return changes.map(({ action, timestamp, actor }) => ({
    kind: action === 'incident.acknowledged' ? 'acknowledged' : 'acknowledgement-removed',
    timestamp,
    by: { id: actor.id ?? '', name: actor.name },
  }));
}

function toEntries(changes: readonly StatusChange[]): TimelineEntry[] {
  return changes.map((statusChange) => ({
    kind: 'status-change',
    timestamp: statusChange.timestamp,
    statusChange,
  }));
}

/** Lists the deliveries of status changes with their last attempts, by the index of the fan-out. */
async function listDeliveries(
  db: Database,
  accountId: string,
  changes: readonly StatusChange[],
): Promise<TimelineEntry[]> {
  if (changes.length === 0) return [];
  const last = db
    .select({ statusCode: attempts.statusCode, error: attempts.error })
    .from(attempts)
    .where(eq(attempts.deliveryId, deliveries.id))
    .orderBy(desc(attempts.number))
    .limit(1)
    .as('last');
  const ids = changes.map(({ id }) => id);
  const rows = await db
    .select({
      row: deliveries,
      channel: { id: channels.id, name: channels.name },
      statusCode: last.statusCode,
      error: last.error,
    })
    .from(deliveries)
    .innerJoin(channels, and(eq(channels.id, deliveries.channelId), isNull(channels.deletedAt)))
    .leftJoinLateral(last, sql`true`)
    .where(and(inArray(deliveries.statusChangeId, ids), eq(deliveries.accountId, accountId)))
    .orderBy(asc(deliveries.createdAt), asc(deliveries.timestamp), asc(deliveries.id))
    .limit(MAX_RECORDS + 1);
  return rows.map(({ row, channel, statusCode, error }) => ({
    kind: 'delivery',
    timestamp: row.createdAt.toISOString(),
    delivery: { ...toDelivery(row), channel, statusCode, error },
  }));
}

const isoTime = z.number().transform((time) => new Date(time).toISOString());
const occurrence = z.object({ windowId: z.string(), name: z.string(), startsAt: isoTime, endsAt: isoTime });

/** Lists past and running occurrences of windows that cover the monitor now, if they overlap the incident. */
async function listMaintenance(
  db: Database,
  accountId: string,
  { monitorId, openedAt, endsAt }: IncidentPeriod,
): Promise<TimelineEntry[]> {
  const rows = await query(db, occurrence)`
    select w.id as window_id, w.name, ${epochMs(sql`o.starts_at`)} as starts_at, ${epochMs(sql`o.ends_at`)} as ends_at
    from maintenance_windows w cross join lateral (
      select starts_at, ends_at from maintenance_occurrences where window_id = w.id and outcome <> 'missed'
      union
      select w.occurrence_starts_at, w.occurrence_ends_at where w.state <> 'ended'
    ) o
    where w.account_id = ${accountId}
      and o.starts_at < ${timestamptz(endsAt)} and o.ends_at > ${timestamptz(openedAt)}
      and (w.all_monitors or ${selectsAll('window', 'w')} or exists (
        select from maintenance_window_monitors a where a.window_id = w.id and a.monitor_id = ${monitorId}))
    order by o.starts_at, w.id limit ${MAX_RECORDS + 1}`;
  return rows.map((maintenance) => ({ kind: 'maintenance', timestamp: maintenance.startsAt, maintenance }));
}

/** Lists changes of the monitor from a day before the incident until its end. */
async function listConfiguration(
  db: Database,
  accountId: string,
  { monitorId, openedAt, endsAt }: IncidentPeriod,
): Promise<TimelineEntry[]> {
  const since = new Date(openedAt - CONFIGURATION_MS).toISOString();
  const limit = MAX_RECORDS + 1;
  const changes = await listAuditEntries(db, accountId, { targetId: monitorId, since, limit });
  return changes
    .filter(({ timestamp }) => Date.parse(timestamp) <= endsAt)
    .map((change) => ({ kind: 'configuration', timestamp: change.timestamp, change }));
}
