import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { AuditAction, AuditChange, AuditTarget } from '@tocsin/contracts/audit-log/audit-log';
import { sql } from 'drizzle-orm';
import { v7 as uuidv7 } from 'uuid';
import type { Transaction } from '../database/open.ts';
import { firstOf, queryColumn } from '../database/sql.ts';
import type { Actor } from './actor.ts';

/** Entries of one statement, and between two turns of the event loop. */
const MAX_BATCH_SIZE = 1_000;

/** What an actor did in a transaction. */
export interface AuditRecord {
  readonly action: AuditAction;
  readonly target: AuditTarget;
  /** Without secrets, see `AUDITED_SECRET`. */
  readonly changes: readonly AuditChange[];
}

/** The audited fields of a target, as the API shows them, with `AUDITED_SECRET` in place of secrets. */
export type AuditedFields = Readonly<Record<string, unknown>>;

/**
 * The fields that differ; one that is missing counts as null.
 * @param before null if the target was created
 * @param after null if the target was deleted
 * @param secrets names of fields that differ although they look the same
 */
export function changesOf(
  before: AuditedFields | null,
  after: AuditedFields | null,
  secrets: readonly string[] = [],
): AuditChange[] {
  const fields = Object.keys({ ...before, ...after });
  return fields.flatMap((field) => {
    const from = toJson(before?.[field]);
    const to = toJson(after?.[field]);
    return secrets.includes(field) || !isDeepStrictEqual(from, to) ? { field, from, to } : [];
  });
}

function toJson(value: unknown): AuditChange['from'] {
  return (value instanceof Date ? value.toISOString() : (value ?? null)) as AuditChange['from'];
}

/**
 * Records what the actor did. Call it last in the transaction that does it: until the commit, other transactions of the account that
 * record wait for it, so that timestamps increase in the order of commits, and nothing after it may wait for a lock.
 */
export async function recordAudit(
  tx: Transaction,
  { accountId, type, id, name, requestId }: Actor,
  records: readonly AuditRecord[],
): Promise<void> {
  if (records.length === 0) return;
  const actor = JSON.stringify({ type, id, name });
  const batches: string[] = [];
  for (let from = 0; from < records.length; from += MAX_BATCH_SIZE) {
    if (from > 0) await nextTurn();
    const batch = records.slice(from, from + MAX_BATCH_SIZE);
    batches.push(
      JSON.stringify(batch.map((record, index) => ({ id: uuidv7(), position: from + index, ...record }))),
    );
  }
  const first = await advanceClock(tx, accountId, records.length);
  for (const batch of batches) {
    await tx.execute(sql`
      insert into audit_log (id, account_id, timestamp, actor, request_id, action, target, changes)
      select r.id, ${accountId}, ${first}::timestamptz + r.position * interval '1 microsecond', ${actor}::jsonb, ${requestId},
        r.action, r.target, r.changes
      from jsonb_to_recordset(${batch}::jsonb) as r (
        id uuid, position int, action text, target jsonb, changes jsonb)`);
  }
}

/** Reserves a microsecond for each entry, and locks the clock of the account. @returns the first one */
async function advanceClock(tx: Transaction, accountId: string, count: number): Promise<string> {
  const rest = sql`${count - 1}::int * interval '1 microsecond'`;
  const rows = await queryColumn(tx)`
    insert into audit_clocks as c (account_id, last_timestamp) values (${accountId}, clock_timestamp() + ${rest})
    on conflict (account_id) do update
    set last_timestamp = greatest(clock_timestamp(), c.last_timestamp + interval '1 microsecond') + ${rest}
    returning (last_timestamp - ${rest})::text`;
  return firstOf(rows);
}
