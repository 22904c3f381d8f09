import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { AuditAction, AuditChange, AuditTarget } from '@tocsin/contracts/audit-log/audit-log';
import { AppError } from '@tocsin/contracts/errors';
import { and, eq, sql, type SQL } from 'drizzle-orm';
import { v7 as uuidv7 } from 'uuid';
import type { Transaction } from '../database/open.ts';
import { firstOf, queryColumn } from '../database/sql.ts';
import { accounts, users } from '../users/table.ts';
import type { Actor } from './actor.ts';

/** Entries per statement and per turn of the event loop. */
const MAX_BATCH_SIZE = 250;

/** One change that an actor made. */
export interface AuditRecord {
  readonly action: AuditAction;
  readonly target: AuditTarget;
  /** Changed fields without secrets (see `HIDDEN_SECRET`). */
  readonly changes: readonly AuditChange[];
}

/** Audited fields in the form of the API, with `HIDDEN_SECRET` in place of secrets. */
export interface Audited {
  readonly id: string;
  readonly name: string;
}

/** Audits a change, if there is one. @param before null if created @param after null if deleted @param secrets names of changed secret fields */
export function recordOf(
  type: 'account' | 'monitor' | 'channel' | 'maintenanceWindow' | 'user',
  before: Audited | null,
  after: Audited | null,
  secrets: readonly string[] = [],
): AuditRecord[] {
  const target = after ?? before;
  const changes = changesOf(before, after, secrets);
  if (target === null || changes.length === 0) return [];
  const action = `${type}.${before === null ? 'created' : after === null ? 'deleted' : 'updated'}` as const;
  return [{ action, target: { type, id: target.id, name: target.name }, changes }];
}

/** Lists the fields that differ. A missing field counts as null. */
export function changesOf(
  before: object | null,
  after: object | null,
  secrets: readonly string[] = [],
): AuditChange[] {
  const [from, to] = [fieldsOf(before), fieldsOf(after)];
  return [...new Set([...from.keys(), ...to.keys()])].flatMap((field) => {
    const change = { field, from: from.get(field) ?? null, to: to.get(field) ?? null };
    return secrets.includes(field) || !isDeepStrictEqual(change.from, change.to) ? change : [];
  });
}

function fieldsOf(target: object | null): ReadonlyMap<string, AuditChange['from']> {
  const { id: _, ...fields } = { id: null, ...target };
  return new Map(Object.entries(JSON.parse(JSON.stringify(fields)) as Record<string, AuditChange['from']>));
}

/**
 * Records the changes of an actor. An operator's changes are also recorded in the operator audit log. Call it last, because it locks the
 * account's audit clock until the commit. @throws AppError operator_required
 */
export async function recordAudit(
  tx: Transaction,
  actor: Actor,
  records: Iterable<AuditRecord>,
): Promise<void> {
  const { accountId, type, id, name, requestId, isOperator = false } = actor;
  const batches: (AuditRecord & { readonly id: string; readonly position: number })[][] = [];
  let count = 0;
  for (const record of records) {
    if (count % MAX_BATCH_SIZE === 0) {
      batches.push([]);
      await nextTurn();
    }
    batches.at(-1)?.push({ id: uuidv7(), position: count, ...record });
    count += 1;
  }
  if (count === 0) return;
  if (isOperator) await requireOperator(tx, actor);
  const recordedActor = JSON.stringify({ type, id, name });
  // The account of the operators is last, so that all transactions lock clocks in the same order.
  for (const owner of isOperator ? new Set([accountId, await ensureOperatorsAccount(tx)]) : [accountId]) {
    const first = await advanceClock(tx, owner, count);
    for (const batch of batches) {
      await tx.execute(sql`
        insert into audit_log (id, account_id, timestamp, actor, request_id, action, target, changes)
        select case when ${owner} = ${accountId} then r.id else gen_random_uuid() end, ${owner},
          ${first}::timestamptz + r.position * interval '1 microsecond', ${recordedActor}::jsonb, ${requestId},
          r.action, r.target, r.changes || ${owner === accountId ? sql`'[]'::jsonb` : accountAsChange(accountId)}
        from jsonb_to_recordset(${JSON.stringify(batch)}::jsonb) as r (
          id uuid, position int, action text, target jsonb, changes jsonb)`);
    }
  }
}

/** Says which account an entry in the operator audit log is about. */
function accountAsChange(accountId: string): SQL {
  return sql`coalesce((
    select jsonb_build_array(jsonb_build_object('field', 'account', 'from', null, 'to', slug))
    from accounts where id = ${accountId}), '[]')`;
}

/** Has only the audit log of the operators. */
export const OPERATORS_ACCOUNT = '00000000-0000-4000-8000-000000000000';

/** Creates the operators' account, unless it exists. @returns its id */
export async function ensureOperatorsAccount(tx: Transaction): Promise<string> {
  const values = { id: OPERATORS_ACCOUNT, name: 'Operators', slug: 'operator' };
  await tx.insert(accounts).values(values).onConflictDoNothing();
  return OPERATORS_ACCOUNT;
}

/**
 * Requires that the actor is still an operator, because a request checks this before it reads its body. An operator cannot be removed until the
 * transaction ends. @throws AppError operator_required
 */
export async function requireOperator(tx: Transaction, { type, id }: Actor): Promise<void> {
  if (type !== 'user' || id === null) return;
  const isOne = and(eq(users.id, id), eq(users.isOperator, true));
  const [operator] = await tx.select({ id: users.id }).from(users).where(isOne).for('key share');
  if (operator === undefined) throw new AppError('operator_required', 'You are no longer an operator.');
}

/** Reserves a microsecond for each entry, and locks the account's clock. @returns the first timestamp */
async function advanceClock(tx: Transaction, accountId: string, count: number): Promise<string> {
  const rest = sql`${count - 1}::int * interval '1 microsecond'`;
  const rows = await queryColumn(tx)`
    insert into audit_clocks as c (account_id, last_timestamp) values (${accountId}, clock_timestamp() + ${rest})
    on conflict (account_id) do update
    set last_timestamp = greatest(clock_timestamp(), c.last_timestamp + interval '1 microsecond') + ${rest}
    returning (last_timestamp - ${rest})::text`;
  return firstOf(rows);
}
