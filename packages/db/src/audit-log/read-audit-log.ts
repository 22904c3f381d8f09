import { AppError } from '@tocsin/contracts/errors';
import type { AuditEntry, AuditLogQuery } from '@tocsin/contracts/audit-log/audit-log';
import { and, asc, desc, eq, type SQL, sql } from 'drizzle-orm';
import type { Database } from '../database/open.ts';
import { auditLog } from './table.ts';

const wireColumns = {
  id: auditLog.id,
  timestamp: sql<string>`to_char(${auditLog.timestamp} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`,
  actor: auditLog.actor,
  requestId: auditLog.requestId,
  action: auditLog.action,
  target: auditLog.target,
  changes: auditLog.changes,
};

/**
 * Lists the first `limit` entries after `since`, or the latest ones, in chronological order.
 * @throws AppError validation_failed for an unknown `before`
 */
export async function listAuditEntries(
  db: Database,
  accountId: string,
  { limit, since, before, action, actorId, targetId }: AuditLogQuery,
): Promise<AuditEntry[]> {
  const { timestamp } = auditLog;
  const isWanted = and(
    eq(auditLog.accountId, accountId),
    since === undefined ? undefined : sql`${timestamp} > ${since}::timestamptz`,
    await isEarlierThan(db, accountId, before),
    action === undefined ? undefined : eq(auditLog.action, action),
    actorId === undefined ? undefined : sql`${auditLog.actor} ->> 'id' = ${actorId}`,
    targetId === undefined ? undefined : sql`${auditLog.target} ->> 'id' = ${targetId}`,
  );
  const query = db.select(wireColumns).from(auditLog).where(isWanted).limit(limit);
  const rows = await query.orderBy(since === undefined ? desc(timestamp) : asc(timestamp));
  const entries = rows.map(toEntry);
  return since === undefined ? entries.toReversed() : entries;
}

type EntryRow = Omit<typeof auditLog.$inferSelect, 'accountId'>;

/** Restores the order of keys, which PostgreSQL does not keep in JSON. */
function toEntry({ id, timestamp, actor, requestId, action, target, changes }: EntryRow): AuditEntry {
  return {
    id,
    timestamp,
    actor: { type: actor.type, id: actor.id, name: actor.name },
    requestId,
    action,
    target: { type: target.type, id: target.id, name: target.name },
    changes: changes.map(({ field, from, to }) => ({ field, from, to })),
  };
}

async function isEarlierThan(
  db: Database,
  accountId: string,
  id: string | undefined,
): Promise<SQL | undefined> {
  if (id === undefined) return undefined;
  const isCursor = and(eq(auditLog.id, id), eq(auditLog.accountId, accountId));
  const [cursor] = await db.select({ timestamp: auditLog.timestamp }).from(auditLog).where(isCursor);
  if (cursor) return sql`${auditLog.timestamp} < ${cursor.timestamp}::timestamptz`;
  throw new AppError('validation_failed', 'These fields are invalid: before.', {
    errors: [{ path: 'before', message: 'is not an entry of this account' }],
  });
}
