import { AppError } from '@tocsin/contracts/errors';
import {
  type Account,
  type AccountUpdate,
  isReservedSlug,
  type NewAccount,
  proposeSlug,
  QUOTAS,
  type Quotas,
} from '@tocsin/contracts/accounts/account';
import type { User } from '@tocsin/contracts/people/user';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import { and, asc, eq, isNull, ne, sql } from 'drizzle-orm';
import { z } from 'zod';
import { lockAssignments } from '../assignments/assignments.ts';
import { agentRegions } from '../agents/table.ts';
import { deleteApiKeysOf } from '../api-keys/api-keys.ts';
import type { Actor } from '../audit-log/actor.ts';
import { type AuditRecord, OPERATORS_ACCOUNT, recordAudit, recordOf } from '../audit-log/record-audit.ts';
import { requireFound, violatedUniqueConstraint } from '../database/errors.ts';
import type { Database, Queryable } from '../database/open.ts';
import { arrayOf, clockNow, firstOf, query, toWire } from '../database/sql.ts';
import { lockUsers, lockUsersFor } from '../users/lock-users.ts';
import { accounts, invitations, memberships } from '../users/table.ts';
import { USAGE } from './quotas.ts';
import {
  auditUser,
  deleteUsersWithoutAccount,
  findUser,
  insertMember,
  isMember,
  lockUserByEmail,
  setUserRole,
} from '../users/users.ts';

const isAccount = and(isNull(accounts.deletedAt), ne(accounts.id, OPERATORS_ACCOUNT));

/**
 * Returns the first account, and creates it in an empty installation. Settings never apply to another account, even if the first was deleted.
 * Processes that start at the same time agree on one account.
 */
export async function ensureFirstAccount(db: Database): Promise<{ id: string; isDeleted: boolean }> {
  return db.transaction(async (tx) => {
    await tx.execute(sql`lock table ${accounts} in share row exclusive mode`);
    const columns = { id: accounts.id, isDeleted: sql<boolean>`${accounts.deletedAt} is not null` };
    const [first] = await tx
      .select(columns)
      .from(accounts)
      .where(ne(accounts.id, OPERATORS_ACCOUNT))
      .orderBy(accounts.createdAt, accounts.id)
      .limit(1);
    if (first !== undefined) return first;
    return firstOf(await tx.insert(accounts).values({ name: 'Default', slug: 'default' }).returning(columns));
  });
}

type AccountRow = typeof accounts.$inferSelect;

const usageRow = z.object({
  id: z.string(),
  monitors: z.number(),
  channels: z.number(),
  maintenanceWindows: z.number(),
  regions: z.number(),
  checksPerMinute: z.number(),
});

/** Counts what accounts have. */
async function readUsage(db: Queryable, ids: readonly string[]): Promise<ReadonlyMap<string, Quotas>> {
  const counts = QUOTAS.map((quota) => sql`(${USAGE[quota](sql`a.id`)}) as ${sql.identifier(quota)}`);
  const rows = await query(db, usageRow)`
    select a.id, ${sql.join(counts, sql`, `)} from unnest(${arrayOf('uuid', ids)}) as a (id)`;
  return new Map(rows.map(({ id, ...usage }) => [id, usage]));
}

async function toAccounts(db: Queryable, defaults: Quotas, rows: readonly AccountRow[]): Promise<Account[]> {
  const usages = await readUsage(
    db,
    rows.map(({ id }) => id),
  );
  return rows.map(({ id, name, slug, quotas, groups, createdAt }) => {
    const usage = usages.get(id);
    if (usage === undefined) throw new Error(`no usage of the account ${id}`);
    return toWire({
      id,
      name,
      slug,
      quotas: { ...defaults, ...definedOf(quotas) },
      ownQuotas: quotas,
      usage,
      groups: [...groups],
      createdAt,
    });
  });
}

/** Lists all accounts, oldest first. @param defaults quotas of accounts without their own */
export async function listAccounts(db: Queryable, defaults: Quotas): Promise<Account[]> {
  const rows = await db
    .select()
    .from(accounts)
    .where(isAccount)
    .orderBy(asc(accounts.createdAt), asc(accounts.id));
  return toAccounts(db, defaults, rows);
}

/** @throws AppError not_found */
export async function getAccount(db: Queryable, defaults: Quotas, id: string): Promise<Account> {
  return firstOf(await toAccounts(db, defaults, [await findAccountRow(db, id)]));
}

/** @throws AppError not_found */
export async function findAccountRow(db: Queryable, id: string): Promise<AccountRow> {
  return requireFound(
    await db
      .select()
      .from(accounts)
      .where(and(eq(accounts.id, id), isAccount)),
    'account',
  );
}

/** Creates an account without members. @throws AppError conflict if the slug is taken, validation_failed if no slug can be made from the name */
export async function createAccount(db: Queryable, actor: Actor, input: NewAccount): Promise<string> {
  const { name, slug = requireSlug(name), quotas = {}, groups = [] } = input;
  return db.transaction(async (tx) => {
    const insert = tx.insert(accounts).values({ name, slug, quotas, groups });
    const created = firstOf(await insert.returning().catch(refuseTakenSlug));
    await recordAudit(tx, { ...actor, accountId: created.id }, auditAccount(null, created));
    return created.id;
  });
}

/** @throws AppError validation_failed */
function requireSlug(name: string): string {
  const slug = proposeSlug(name);
  if (slug !== '' && !isReservedSlug(slug)) return slug;
  throw new AppError('validation_failed', 'No slug can be made from this name. Choose one.', {
    errors: [{ path: 'slug', message: 'is required for this name', code: 'required' }],
  });
}

function refuseTakenSlug(error: unknown): never {
  if (violatedUniqueConstraint(error) !== 'accounts_slug_key') throw error;
  throw new AppError('conflict', 'Another account has this slug.', {
    errors: [{ path: 'slug', message: 'is taken', code: 'conflict' }],
  });
}

/** @throws AppError not_found, conflict if the slug is taken */
export async function updateAccount(
  db: Queryable,
  actor: Actor,
  id: string,
  changes: AccountUpdate,
): Promise<void> {
  await db.transaction(async (tx) => {
    await lockUsers(tx, id);
    const before = await findAccountRow(tx, id);
    const after = { ...before, ...definedOf(changes) };
    const { name, slug, quotas, groups } = after;
    await tx
      .update(accounts)
      .set({ name, slug, quotas, groups })
      .where(eq(accounts.id, id))
      .catch(refuseTakenSlug);
    await recordAudit(tx, { ...actor, accountId: id }, auditAccount(before, after));
  });
}

type Defined<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> };

function definedOf<Fields extends object>(fields: Fields): Defined<Fields> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as Defined<Fields>;
}

type AuditedAccount = Pick<AccountRow, 'id' | 'name' | 'slug' | 'quotas' | 'groups'>;

function auditAccount(before: AuditedAccount | null, after: AuditedAccount | null): AuditRecord[] {
  const fieldsOf = ({ id, name, slug, quotas, groups }: AuditedAccount): AuditedAccount => ({
    id,
    name,
    slug,
    quotas,
    groups,
  });
  return recordOf('account', before && fieldsOf(before), after && fieldsOf(after));
}

/**
 * Deletes an account. Its API keys, agents, memberships, invitations and webhooks end at once. `purgeDeletedAccounts` deletes the rest in small steps.
 * @throws AppError not_found, validation_failed if `confirm` is not its slug
 */
export async function deleteAccount(db: Queryable, actor: Actor, id: string, confirm: string): Promise<void> {
  await db.transaction(async (tx) => {
    // Waits for transactions that are writing channels or monitors.
    await lockAssignments(tx, id, 'exclusive');
    await lockUsers(tx, id);
    const account = await findAccountRow(tx, id);
    if (confirm !== account.slug) {
      throw new AppError(
        'validation_failed',
        `To delete this account, confirm with its slug, ${account.slug}.`,
        {
          errors: [{ path: 'confirm', message: 'is not the slug of the account' }],
        },
      );
    }
    await tx.update(accounts).set({ deletedAt: clockNow }).where(eq(accounts.id, id));
    const members = await tx.delete(memberships).where(eq(memberships.accountId, id)).returning();
    await deleteApiKeysOf(tx, id);
    await tx.delete(agentRegions).where(eq(agentRegions.accountId, id));
    await tx.delete(invitations).where(eq(invitations.accountId, id));
    await deleteUsersWithoutAccount(
      tx,
      members.map(({ userId }) => userId),
    );
    await tx.execute(
      sql`update channels set deleted_at = ${clockNow} where account_id = ${id} and deleted_at is null`,
    );
    await recordAudit(tx, { ...actor, accountId: id }, auditAccount(account, null));
  });
}

/**
 * Adds a known user to an account, or changes the role. Returns null if no user has verified the address.
 * @param actor with `accountId` of the account @throws AppError conflict for the last owner
 */
export async function setMember(
  db: Queryable,
  actor: Actor,
  { email, role }: { readonly email: string; readonly role: UserRole },
): Promise<User | null> {
  const { accountId } = actor;
  return db.transaction(async (tx) => {
    await lockUsersFor(tx, actor);
    const user = await lockUserByEmail(tx, email);
    if (user?.emailVerified !== true) return null;
    if (!(await isMember(tx, accountId, user.id))) {
      const member = await insertMember(tx, accountId, user.id, role);
      await recordAudit(tx, actor, auditUser(null, member));
      return member;
    }
    const member = await findUser(tx, accountId, user.id);
    return member.role === role ? member : setUserRole(tx, actor, user.id, role);
  });
}
