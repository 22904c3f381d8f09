import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import { createAccount, deleteAccount, ensureFirstAccount, setMember } from '@tocsin/db/accounts/accounts';
import { addOperator, removeOperator } from '@tocsin/db/accounts/operators';
import { purgeDeletedAccounts } from '@tocsin/db/accounts/purge-accounts';
import { createApiKey } from '@tocsin/db/api-keys/api-keys';
import { type Actor, systemActor, userActor } from '@tocsin/db/audit-log/actor';
import { listAuditEntries } from '@tocsin/db/audit-log/read-audit-log';
import { OPERATORS_ACCOUNT } from '@tocsin/db/audit-log/record-audit';
import { createInvitation, deleteInvitation, joinByInvitation } from '@tocsin/db/users/invitations';
import { recordFailedSignIn, recordPasswordChange, recordSignIn } from '@tocsin/db/users/sign-ins';
import { accounts, memberships, users } from '@tocsin/db/users/table';
import { createUser, deleteUser, findUser, setUserRole, wasDeleted } from '@tocsin/db/users/users';
import { eq, isNotNull, sql } from 'drizzle-orm';
import { openTestContext, untilWaiting, useTestContext } from './harness.ts';

const context = await useTestContext();
const { db, accountId, actor } = context;

const BOB = 'bob@example.com';
const asMember = { email: BOB, role: 'member' } as const;

beforeEach(async () => {
  await db.execute(sql`truncate users, invitations, user_tombstones cascade`);
});

async function makeUser(email: string, role: UserRole = 'owner', emailVerified = true): Promise<string> {
  const user = { role, name: email, email, emailVerified, passwordHash: null };
  return (await createUser(db, actor, user)).id;
}

/** An operator who is a member of no account. */
async function makeOperator(email: string): Promise<Actor & { readonly id: string }> {
  const values = { name: email, email, emailVerified: true, isOperator: true };
  const [row] = await db.insert(users).values(values).returning();
  const id = row?.id ?? '';
  return { ...userActor(OPERATORS_ACCOUNT, id, email), id, isOwner: true, isOperator: true };
}

const within = (operator: Actor, account = accountId): Actor => ({ ...operator, accountId: account });
const newAccount = (): Promise<string> =>
  createAccount(db, actor, { name: 'Shop', slug: `s-${randomUUID()}` });

async function actionsOf(account: string): Promise<string[]> {
  const entries = await listAuditEntries(db, account, { limit: 500 });
  return entries.map(({ action }) => action);
}

describe('an address that is not verified', () => {
  test('gives neither a membership nor the rights of an operator, until the user joins by an invitation to it', async () => {
    const operator = await makeOperator('operator@example.com');
    const id = await makeUser(BOB, 'viewer', false);
    const shop = await newAccount();
    expect(await setMember(db, within(operator, shop), asMember)).toBeNull();
    await expect(addOperator(db, operator, BOB)).rejects.toMatchObject({ code: 'conflict' });
    const { token } = await createInvitation(db, within(operator, shop), asMember);
    await joinByInvitation(db, token, id);
    expect(await setMember(db, within(operator, shop), asMember)).toMatchObject({ id });
    expect(await addOperator(db, operator, BOB)).toMatchObject({ id });
  });

  test('is not verified by a link without an address', async () => {
    const id = await makeUser(BOB, 'viewer', false);
    const shop = await newAccount();
    const operator = await makeOperator('operator@example.com');
    const { token } = await createInvitation(db, within(operator, shop), { email: null, role: 'member' });
    await joinByInvitation(db, token, id);
    expect(await setMember(db, within(operator, shop), asMember)).toBeNull();
  });
});

describe('a change by someone who lost the right while the request was sent', () => {
  test.each<[string, (actor: Actor & { readonly id: string }, invitation: string) => Promise<unknown>]>([
    ['setUserRole', async (bob) => setUserRole(db, bob, bob.id, 'owner')],
    ['deleteUser', async (bob) => deleteUser(db, bob, bob.id)],
    ['createInvitation', async (bob) => createInvitation(db, bob, { email: null, role: 'owner' })],
    ['deleteInvitation', async (bob, invitation) => deleteInvitation(db, bob, invitation)],
  ])('is refused to a former owner: %s', async (_, change) => {
    const ownerId = await makeUser('owner@example.com');
    const id = await makeUser(BOB, 'member');
    const owner = userActor(accountId, ownerId, 'Owner');
    const { invitation } = await createInvitation(db, owner, { email: null, role: 'member' });
    const refused = change({ ...userActor(accountId, id, 'Bob'), id, isOwner: true }, invitation.id);
    await expect(refused).rejects.toMatchObject({ code: 'owner_required' });
    expect(await findUser(db, accountId, id)).toMatchObject({ role: 'member' });
  });

  test.each<[string, (operator: Actor & { readonly id: string }) => Promise<unknown>]>([
    ['createAccount', async (eve) => createAccount(db, eve, { name: 'Eve' })],
    ['setMember', async (eve) => setMember(db, within(eve), asMember)],
    ['createInvitation', async (eve) => createInvitation(db, within(eve), { email: null, role: 'owner' })],
    ['createApiKey', async (eve) => createApiKey(db, within(eve), { name: 'CI' })],
    ['addOperator', async (eve) => addOperator(db, eve, BOB)],
  ])('is refused to a former operator, who may be deleted: %s', async (_, change) => {
    const [eve, first] = [await makeOperator('eve@example.com'), await makeOperator('first@example.com')];
    const id = await makeUser(BOB, 'viewer');
    await removeOperator(db, first, eve.id);
    await expect(change(eve)).rejects.toMatchObject({ code: 'operator_required' });
    expect(await findUser(db, accountId, id)).toMatchObject({ role: 'viewer' });
  });
});

describe('a removed operator', () => {
  test('leaves no open invitations, except to accounts that they own', async () => {
    const [first, eve] = [await makeOperator('first@example.com'), await makeOperator('eve@example.com')];
    const shop = await newAccount();
    await setMember(db, within(first), { email: 'eve@example.com', role: 'owner' });
    const invitations = [];
    for (const account of [accountId, shop])
      invitations.push(await createInvitation(db, within(eve, account), { email: null, role: 'member' }));
    await removeOperator(db, eve, eve.id);
    const { rows } = await db.execute(sql`select id from invitations`);
    expect(rows).toEqual([{ id: invitations[0]?.invitation.id }]);
    expect((await actionsOf(shop)).at(-1)).toBe('invitation.deleted');
    expect((await actionsOf(OPERATORS_ACCOUNT)).slice(-2)).toEqual(['user.updated', 'invitation.deleted']);
  });

  test('without an account is remembered as deleted', async () => {
    const [first, eve] = [await makeOperator('first@example.com'), await makeOperator('eve@example.com')];
    await removeOperator(db, first, eve.id);
    expect(await wasDeleted(db, 'Eve@example.com')).toBe(true);
    await makeUser('eve@example.com');
    expect(await wasDeleted(db, 'eve@example.com')).toBe(false);
  });
});

describe('setMember', () => {
  test('keeps a membership from a group that has the role already', async () => {
    const id = await makeUser(BOB, 'member');
    await db.update(memberships).set({ isFromGroup: true });
    expect(await setMember(db, actor, asMember)).toMatchObject({ id, fromGroup: true });
    expect(await setMember(db, actor, { ...asMember, role: 'viewer' })).toMatchObject({ fromGroup: false });
  });

  test.each<[string, () => Promise<unknown>, unknown]>([
    ['setMember', async () => setMember(db, actor, asMember), null],
    [
      'addOperator',
      async () => addOperator(db, actor, BOB).catch((error: unknown) => error),
      expect.objectContaining({ code: 'not_found' }),
    ],
  ])('a user who is deleted meanwhile is unknown: %s', async (_, add, expected) => {
    const [user] = await db
      .insert(users)
      .values({ name: 'Bob', email: BOB, emailVerified: true })
      .returning();
    let added: Promise<unknown> | undefined;
    await db.transaction(async (tx) => {
      await tx.delete(users).where(eq(users.id, user?.id ?? ''));
      added = add();
      await untilWaiting(context, 1);
    });
    expect(await added).toEqual(expected);
  });
});

test('a user who joins another account during the removal from the last one stays a user', async () => {
  const shop = await createAccount(db, actor, { name: 'Shop', slug: 'last-one' });
  const bob = { role: 'member', name: 'Bob', email: BOB, emailVerified: true, passwordHash: null } as const;
  const { id } = await createUser(db, systemActor(shop), bob);
  let removed: Promise<unknown> | undefined;
  await db.transaction(async (tx) => {
    await tx.select().from(users).where(eq(users.id, id)).for('key share');
    removed = deleteAccount(db, actor, shop, 'last-one');
    await untilWaiting(context, 1);
    await tx.insert(memberships).values({ accountId, userId: id, role: 'member' });
  });
  await removed;
  expect(await findUser(db, accountId, id)).toMatchObject({ email: BOB });
});

test.each<[UserRole, number]>([
  ['viewer', 0],
  ['member', 1],
])(
  'the keys of a removed %s, if they are kept, are %i, because a kept key of a viewer could write',
  async (role, left) => {
    const id = await makeUser(BOB, 'member');
    await makeUser('owner@example.com');
    await createApiKey(db, userActor(accountId, id, 'Bob'), { name: 'CI' });
    await setUserRole(db, actor, id, role);
    await deleteUser(db, actor, id, { revokeApiKeys: false });
    const { rowCount } = await db.execute(sql`select from api_keys where created_by_email = ${BOB}`);
    expect(rowCount).toBe(left);
  },
);

test('the log of the operators has their sign-ins, failed sign-ins and changes of passwords', async () => {
  const { id } = await makeOperator(BOB);
  await recordSignIn(db, { id, userId: id }, 'password', null);
  await recordFailedSignIn(db, BOB, null);
  await recordPasswordChange(db, id, null);
  const expected = ['session.created', 'session.failed', 'user.passwordChanged'];
  expect((await actionsOf(OPERATORS_ACCOUNT)).slice(-3)).toEqual(expected);
});

test('no other account takes the place of the first one after its deletion', async () => {
  const own = await openTestContext();
  try {
    const first = { id: own.accountId, isDeleted: false };
    expect(await ensureFirstAccount(own.db)).toEqual(first);
    const second = await createAccount(own.db, own.actor, { name: 'Shop' });
    await deleteAccount(own.db, own.actor, own.accountId, 'default');
    await deleteAccount(own.db, own.actor, second, 'shop');
    await createAccount(own.db, own.actor, { name: 'Shop' });
    await purgeDeletedAccounts(own.db);
    expect(await own.db.$count(accounts, isNotNull(accounts.deletedAt))).toBe(1);
    expect(await ensureFirstAccount(own.db)).toEqual({ ...first, isDeleted: true });
  } finally {
    await own.close();
  }
});
