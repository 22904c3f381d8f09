import { AppError } from '@tocsin/contracts/errors';
import type { OwnAccount } from '@tocsin/contracts/accounts/account';
import { and, asc, eq, isNull } from 'drizzle-orm';
import type { Queryable } from '../database/open.ts';
import { queryColumn } from '../database/sql.ts';
import { accounts, memberships } from '../users/table.ts';

/** Lists the accounts of a user by name. */
export async function listOwnAccounts(db: Queryable, userId: string): Promise<OwnAccount[]> {
  const { id, name, slug } = accounts;
  return db
    .select({ id, name, slug, role: memberships.role })
    .from(memberships)
    .innerJoin(accounts, eq(accounts.id, memberships.accountId))
    .where(and(eq(memberships.userId, userId), isNull(accounts.deletedAt)))
    .orderBy(asc(name), asc(id));
}

/**
 * Finds the account for a request of a user.
 * @param slug its slug or id, or null for the user's only account
 * @throws AppError not_found if the user is not a member, account_required without a slug if there are several
 */
export async function findOwnAccount(
  db: Queryable,
  userId: string,
  slug: string | null,
): Promise<OwnAccount> {
  const own = await listOwnAccounts(db, userId);
  const [only, another] = own;
  if (slug === null && only !== undefined && another !== undefined) {
    const slugs = own.map((each) => each.slug).join(', ');
    throw new AppError(
      'account_required',
      `You are a member of several accounts. Send Tocsin-Account with one of: ${slugs}.`,
    );
  }
  const account =
    slug === null ? only : (own.find(({ id }) => id === slug) ?? own.find((each) => each.slug === slug));
  if (account !== undefined) return account;
  throw new AppError(
    'not_found',
    slug === null ? 'You are not a member of any account.' : 'You have no account with this slug.',
  );
}

/** Finds the account that owns the monitor, incident, channel or maintenance window with this id, or null. */
export async function findAccountOfRecord(db: Queryable, recordId: string): Promise<string | null> {
  const [accountId] = await queryColumn(db)`
    select account_id from monitors where id = ${recordId}
    union all select account_id from incidents where id = ${recordId}
    union all select account_id from channels where id = ${recordId}
    union all select account_id from maintenance_windows where id = ${recordId}
    limit 1`;
  return accountId ?? null;
}
