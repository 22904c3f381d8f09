import { AppError } from '@tocsin/contracts/errors';
import type { NewRegion } from '@tocsin/contracts/regions/region';
import { and, eq, isNull, or, type SQL, sql } from 'drizzle-orm';
import { requireQuotas, type WriteContext } from '../accounts/quotas.ts';
import { type Actor, requireSource } from '../audit-log/actor.ts';
import { changesOf, OPERATORS_ACCOUNT, recordAudit } from '../audit-log/record-audit.ts';
import { ADVISORY_LOCKS } from '../database/leader-lease.ts';
import type { Database, Queryable, Transaction } from '../database/open.ts';
import { regionLockKey } from './require-regions.ts';
import { agentRegions } from './table.ts';

export type AgentRegionRow = typeof agentRegions.$inferSelect;

/** Shared regions belong to the operators. */
function isOwnedBy(accountId: string): SQL {
  return accountId === OPERATORS_ACCOUNT
    ? isNull(agentRegions.accountId)
    : eq(agentRegions.accountId, accountId);
}

/** Lists the agent regions that monitors of the account may name, which are its own and the shared ones. */
export async function listAgentRegions(db: Queryable, accountId: string): Promise<AgentRegionRow[]> {
  const isVisible = or(isOwnedBy(accountId), isNull(agentRegions.accountId));
  return db.select().from(agentRegions).where(isVisible);
}

/** Finds a region that the account owns. @param lock row lock for callers that change the region @throws AppError not_found */
export async function findAgentRegion(
  db: Queryable,
  accountId: string,
  code: string,
  lock?: 'no key update' | 'update',
): Promise<AgentRegionRow> {
  const isRegion = and(eq(agentRegions.code, code), isOwnedBy(accountId));
  const select = db.select().from(agentRegions).where(isRegion);
  const [found] = await (lock === undefined ? select : select.for(lock));
  if (found === undefined) throw new AppError('not_found', 'There is no agent region with this code.');
  return found;
}

/**
 * Creates an agent region of the account, or a shared one for operators.
 * @param isReserved true if the settings or checkers use the code
 * @throws AppError source_not_allowed, quota_exceeded, conflict for any code that cannot be used
 */
export async function createAgentRegion(
  context: WriteContext,
  actor: Actor,
  { code, name = null }: NewRegion,
  isReserved: boolean,
): Promise<void> {
  requireSource(actor, null);
  const { accountId } = actor;
  const isShared = accountId === OPERATORS_ACCOUNT;
  await context.db.transaction(async (tx) => {
    await lockRegion(tx, code);
    if (isReserved || (!isShared && (await isNamed(tx, code, sql`m.account_id <> ${accountId}`))))
      throw codeTaken();
    const values = { code, accountId: isShared ? null : accountId, name };
    const [created] = await tx.insert(agentRegions).values(values).onConflictDoNothing().returning();
    if (created === undefined) throw codeTaken();
    const target = { type: 'region', id: code, name: code } as const;
    await recordAudit(tx, actor, [
      { action: 'region.created', target, changes: changesOf(null, { code, name }) },
    ]);
    if (!isShared) await requireQuotas(tx, accountId, context, { regions: [code] });
  });
}

/** The error is the same for every reason, so that it does not reveal the regions of other accounts. */
function codeTaken(): AppError {
  return new AppError('conflict', 'This region code cannot be used. Choose another one.', {
    errors: [{ path: 'code', code: 'conflict', message: 'cannot be used' }],
  });
}

/** Deletes a region with its tokens. @throws AppError source_not_allowed, not_found, conflict while a monitor names it */
export async function deleteAgentRegion(db: Database, actor: Actor, code: string): Promise<void> {
  await db.transaction(async (tx) => {
    await lockRegion(tx, code);
    const { name } = await findAgentRegion(tx, actor.accountId, code, 'update');
    requireSource(actor, null);
    const isOfOwner =
      actor.accountId === OPERATORS_ACCOUNT ? sql`true` : sql`m.account_id = ${actor.accountId}`;
    if (await isNamed(tx, code, isOfOwner))
      throw new AppError('conflict', 'Monitors still use this region. Remove it from them first.');
    await tx.delete(agentRegions).where(eq(agentRegions.code, code));
    const target = { type: 'region', id: code, name: code } as const;
    await recordAudit(tx, actor, [
      { action: 'region.deleted', target, changes: changesOf({ code, name }, null) },
    ]);
  });
}

/** Waits for transactions that write monitors in the region, and keeps others from doing so until the commit (see `requireRegions`). */
async function lockRegion(tx: Transaction, code: string): Promise<void> {
  await tx.execute(
    sql`select pg_advisory_xact_lock(${ADVISORY_LOCKS.regions}, ${regionLockKey(sql`${code}`)})`,
  );
}

async function isNamed(tx: Transaction, code: string, byMonitor: SQL): Promise<boolean> {
  const { rowCount } = await tx.execute(sql`
    select from monitor_regions r join monitors m on m.id = r.monitor_id
    where r.region = ${code} and ${byMonitor} limit 1`);
  return rowCount === 1;
}
