import type { AccountGroup } from '@tocsin/contracts/accounts/account';
import { USER_ROLES, type UserRole } from '@tocsin/contracts/vocabulary';
import { and, eq, isNull, or, sql } from 'drizzle-orm';
import { systemActor } from '../audit-log/actor.ts';
import { type AuditRecord, recordAudit } from '../audit-log/record-audit.ts';
import type { Database, Queryable, Transaction } from '../database/open.ts';
import { arrayOf } from '../database/sql.ts';
import { acceptInvitationOf } from './invitations.ts';
import { accounts, memberships, userLogins, users } from './table.ts';
import {
  auditUser,
  changeRole,
  deleteUsersWithoutAccount,
  findUserByEmail,
  hasAnotherOwner,
  insertMember,
  insertPerson,
  removeMember,
} from './users.ts';

export const OIDC_PROVIDER = 'oidc';

/** A person whom the identity provider has authenticated. */
export interface Person {
  /** Id at the provider. */
  readonly subject: string;
  /** Verified. */
  readonly email: string;
  readonly name: string;
  /** Null if the provider left the groups out because there are too many. Memberships then stay as they are. An absent claim is an empty list. */
  readonly groups: readonly string[] | null;
  /** False keeps the API keys of a person who lost a group, because an absent claim may be a mistake in the provider's settings. */
  readonly revokeApiKeys: boolean;
}

interface Admission {
  /** False if the person has no user, open invitation or group with an account. */
  readonly isUser: boolean;
  /** Slugs of accounts whose last owner lost the group, and stays owner. */
  readonly keptOwnerOf: readonly string[];
}

/** Reports whether an account has groups. */
export async function hasGroups(db: Queryable): Promise<boolean> {
  return (await db.$count(accounts, and(isNull(accounts.deletedAt), sql`${accounts.groups} <> '[]'`))) > 0;
}

/**
 * Accepts an open invitation for a new person, and makes the memberships that come from groups equal to the groups. Deletes a user who is then
 * a member of no account, unless the user is an operator.
 */
export async function admitPerson(db: Database, person: Person): Promise<Admission> {
  if ((await findPerson(db, person)) === null) await acceptInvitationOf(db, person.email, person.name);
  return db.transaction(async (tx) => {
    const before = await findPerson(tx, person);
    // Locks the users of each account as `lockUsers` does, but skips an account that is being deleted.
    const found = selectConcernedAccounts(tx, before?.id ?? null, person.groups);
    const locked = new Set((await found.for('no key update', { of: accounts })).map(({ id }) => id));
    const user = await findPerson(tx, person);
    const listed = await selectConcernedAccounts(tx, user?.id ?? null, person.groups);
    const concerned = listed.filter(({ id }) => locked.has(id));
    const own = new Set(person.groups);
    if (user === null && concerned.every(({ groups }) => highestRole(groups, own) === null))
      return { isUser: false, keptOwnerOf: [] };
    const { email, name, subject } = person;
    const fields = { email, name, emailVerified: true, passwordHash: null };
    const userId = user?.id ?? (await insertPerson(tx, fields));
    // The claims of another identity with the same address change nothing. better-auth refuses it.
    if (!(await bindSubject(tx, userId, user?.emailVerified ?? true, subject)))
      return { isUser: true, keptOwnerOf: [] };
    const keptOwnerOf: string[] = [];
    const records = new Map<string, readonly AuditRecord[]>();
    for (const account of concerned) {
      const changes = await matchMembership(tx, userId, account, highestRole(account.groups, own), person);
      if (changes === null) keptOwnerOf.push(account.slug);
      else records.set(account.id, changes);
    }
    await deleteUsersWithoutAccount(tx, [userId]);
    // Every transaction locks the clocks of several accounts in the same order.
    for (const [id, changes] of records)
      await recordAudit(tx, { ...systemActor(id), name: 'Single sign-on' }, changes);
    return { isUser: (await tx.$count(users, eq(users.id, userId))) > 0, keptOwnerOf };
  });
}

/** Finds the user of an identity, or otherwise of its address. */
async function findPerson(
  db: Queryable,
  { subject, email }: Person,
): Promise<Pick<typeof users.$inferSelect, 'id' | 'emailVerified'> | null> {
  const { id, emailVerified } = users;
  const [bound] = await db
    .select({ id, emailVerified })
    .from(users)
    .innerJoin(userLogins, eq(userLogins.userId, id))
    .where(and(eq(userLogins.providerId, OIDC_PROVIDER), eq(userLogins.subject, subject)));
  return bound ?? findUserByEmail(db, email);
}

interface ConcernedAccount {
  readonly id: string;
  readonly slug: string;
  readonly groups: readonly AccountGroup[];
  /** Current role. Null if the user is no member. */
  readonly role: UserRole | null;
  readonly isFromGroup: boolean | null;
}

/**
 * Selects accounts that have one of the groups, or in which the user's membership comes from a group. Sorted by id, so that two sign-ins lock
 * them in the same order.
 */
function selectConcernedAccounts(tx: Transaction, userId: string | null, own: readonly string[] | null) {
  const { id, slug, groups } = accounts;
  const { accountId, role, isFromGroup } = memberships;
  const hasGroup = sql`exists (
    select from jsonb_array_elements(${groups}) as g where g ->> 'group' = any(${arrayOf('text', own ?? [])}))`;
  return tx
    .select({ id, slug, groups, role, isFromGroup })
    .from(accounts)
    .leftJoin(memberships, and(eq(accountId, id), sql`${memberships.userId} = ${userId}`))
    .where(and(isNull(accounts.deletedAt), own === null ? sql`false` : or(hasGroup, eq(isFromGroup, true))))
    .orderBy(id);
}

function highestRole(groups: readonly AccountGroup[], own: ReadonlySet<string>): UserRole | null {
  const granted = groups.filter(({ group }) => own.has(group));
  return USER_ROLES.find((role) => granted.some((each) => each.role === role)) ?? null;
}

/** Binds an identity to a user who has none, if the address is verified. @returns whether the user now has this identity */
async function bindSubject(
  tx: Transaction,
  userId: string,
  isVerified: boolean,
  subject: string,
): Promise<boolean> {
  const login = { userId, providerId: OIDC_PROVIDER, subject };
  if (isVerified) await tx.insert(userLogins).values(login).onConflictDoNothing();
  const { providerId } = userLogins;
  const isBound = and(eq(userLogins.userId, userId), eq(providerId, OIDC_PROVIDER));
  return (await tx.$count(userLogins, and(isBound, eq(userLogins.subject, subject)))) > 0;
}

/** Keeps a membership that was added by hand. @returns the audit records, or null for a last owner, who stays */
async function matchMembership(
  tx: Transaction,
  userId: string,
  { id, role, isFromGroup }: ConcernedAccount,
  granted: UserRole | null,
  { revokeApiKeys }: Pick<Person, 'revokeApiKeys'>,
): Promise<AuditRecord[] | null> {
  if (role === null)
    return granted === null ? [] : auditUser(null, await insertMember(tx, id, userId, granted, true));
  if (isFromGroup === false || role === granted) return [];
  if (role === 'owner' && !(await hasAnotherOwner(tx, id))) return null;
  if (granted === null) return removeMember(tx, id, userId, { revokeApiKeys });
  return changeRole(tx, id, userId, { role: granted, isFromGroup: true });
}
