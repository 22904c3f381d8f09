import type { AuditTarget } from '@tocsin/contracts/audit-log/audit-log';
import { HIDDEN_SECRET } from '@tocsin/contracts/fields';
import { eq } from 'drizzle-orm';
import { userActor } from '../audit-log/actor.ts';
import { type AuditRecord, ensureOperatorsAccount, recordAudit } from '../audit-log/record-audit.ts';
import type { Database } from '../database/open.ts';
import { memberships, users } from './table.ts';
import { findUserByEmail } from './users.ts';

/* Audits what better-auth does in each account of the user, and among operators, in separate transactions right after it. */

export async function recordSignIn(
  db: Database,
  { id, userId }: { readonly id: string; readonly userId: string },
  method: 'password' | 'singleSignOn',
  requestId: string | null,
): Promise<void> {
  await recordInAccounts(db, userId, requestId, (name) => {
    const changes = [{ field: 'method', from: null, to: method }];
    return { action: 'session.created', target: { type: 'session', id, name }, changes };
  });
}

/** Records a wrong password for an address. An unknown address is not recorded, because it belongs to no account. */
export async function recordFailedSignIn(
  db: Database,
  email: string,
  requestId: string | null,
): Promise<void> {
  const user = await findUserByEmail(db, email);
  if (user === null) return;
  const target: AuditTarget = { type: 'user', id: user.id, name: user.name };
  await recordInAccounts(db, user.id, requestId, () => ({ action: 'session.failed', target, changes: [] }), {
    id: null,
    name: 'Unknown',
  });
}

/** Records that a signed-in user changed their own password. */
export async function recordPasswordChange(
  db: Database,
  userId: string,
  requestId: string | null,
): Promise<void> {
  await recordInAccounts(db, userId, requestId, (name) => {
    const changes = [{ field: 'password', from: HIDDEN_SECRET, to: HIDDEN_SECRET }];
    return { action: 'user.passwordChanged', target: { type: 'user', id: userId, name }, changes };
  });
}

/** @param as the actor, if it is not the user */
async function recordInAccounts(
  db: Database,
  userId: string,
  requestId: string | null,
  recordFor: (name: string) => AuditRecord,
  as?: { readonly id: null; readonly name: string },
): Promise<void> {
  await db.transaction(async (tx) => {
    const { name: userName, isOperator } = users;
    const [user] = await tx.select({ name: userName, isOperator }).from(users).where(eq(users.id, userId));
    if (user === undefined) return;
    const { name } = user;
    const own = await tx
      .select({ accountId: memberships.accountId })
      .from(memberships)
      .where(eq(memberships.userId, userId))
      // Every transaction locks the clocks of several accounts in the same order, with the operators' last.
      .orderBy(memberships.accountId);
    if (user.isOperator) own.push({ accountId: await ensureOperatorsAccount(tx) });
    for (const { accountId } of own) {
      const actor = { ...userActor(accountId, userId, name, requestId), ...as };
      await recordAudit(tx, actor, [recordFor(name)]);
    }
  });
}
