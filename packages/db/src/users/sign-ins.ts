import type { AuditTarget } from '@tocsin/contracts/audit-log/audit-log';
import { HIDDEN_SECRET } from '@tocsin/contracts/fields';
import { eq } from 'drizzle-orm';
import { userActor } from '../audit-log/actor.ts';
import { recordAudit } from '../audit-log/record-audit.ts';
import type { Database } from '../database/open.ts';
import { users } from './table.ts';
import { findUserByEmail } from './users.ts';

/* Audits what better-auth does, in separate transactions right after it. */

export async function recordSignIn(
  db: Database,
  { id, userId }: { readonly id: string; readonly userId: string },
  method: 'password' | 'singleSignOn',
  requestId: string | null,
): Promise<void> {
  await db.transaction(async (tx) => {
    const [user] = await tx.select().from(users).where(eq(users.id, userId));
    if (user === undefined) return;
    const target: AuditTarget = { type: 'session', id, name: user.name };
    const changes = [{ field: 'method', from: null, to: method }];
    const actor = userActor(user.accountId, userId, user.name, requestId);
    await recordAudit(tx, actor, [{ action: 'session.created', target, changes }]);
  });
}

/** Records a wrong password for an address. An unknown address is not recorded, because it belongs to no account. */
export async function recordFailedSignIn(
  db: Database,
  email: string,
  requestId: string | null,
): Promise<void> {
  await db.transaction(async (tx) => {
    const user = await findUserByEmail(tx, email);
    if (user === null) return;
    const actor = { ...userActor(user.accountId, user.id, 'Unknown', requestId), id: null };
    const target: AuditTarget = { type: 'user', id: user.id, name: user.name };
    await recordAudit(tx, actor, [{ action: 'session.failed', target, changes: [] }]);
  });
}

/** Records that a signed-in user changed their own password. */
export async function recordPasswordChange(
  db: Database,
  userId: string,
  requestId: string | null,
): Promise<void> {
  await db.transaction(async (tx) => {
    const [user] = await tx.select().from(users).where(eq(users.id, userId));
    if (user === undefined) return;
    const target: AuditTarget = { type: 'user', id: userId, name: user.name };
    const changes = [{ field: 'password', from: HIDDEN_SECRET, to: HIDDEN_SECRET }];
    const actor = userActor(user.accountId, userId, user.name, requestId);
    await recordAudit(tx, actor, [{ action: 'user.passwordChanged', target, changes }]);
  });
}
