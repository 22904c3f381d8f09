import { beforeEach, describe, expect, test } from '@jest/globals';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import { createAccount, deleteAccount, updateAccount } from '@tocsin/db/accounts/accounts';
import { createApiKey } from '@tocsin/db/api-keys/api-keys';
import { systemActor, userActor } from '@tocsin/db/audit-log/actor';
import { createInvitation } from '@tocsin/db/users/invitations';
import { admitPerson, hasGroups, type Person } from '@tocsin/db/users/single-sign-on';
import { createUser, setUserRole } from '@tocsin/db/users/users';
import { sql } from 'drizzle-orm';
import { untilWaiting, useTestContext } from './harness.ts';

const context = await useTestContext();
const { db, actor } = context;

const GRACE = { subject: 'grace', email: 'grace@example.com', name: 'Grace' };
const GROUPS = [
  { group: 'shop-admins', role: 'owner' },
  { group: 'shop', role: 'member' },
] as const;

let shop: string;
let bank: string;
beforeEach(async () => {
  await db.execute(sql`truncate users, invitations cascade`);
  await db.execute(sql`delete from accounts`);
  shop = await createAccount(db, actor, { name: 'Shop', groups: [...GROUPS] });
  bank = await createAccount(db, actor, { name: 'Bank', groups: [{ group: 'bank', role: 'viewer' }] });
});

function signIn(
  groups: Person['groups'],
  person: Partial<Person> = {},
): Promise<{ isUser: boolean; keptOwnerOf: readonly string[] }> {
  return admitPerson(db, { ...GRACE, revokeApiKeys: true, ...person, groups });
}

async function addUser(accountId: string, email: string, role: UserRole = 'owner'): Promise<string> {
  const user = { role, name: 'By hand', email, emailVerified: true, passwordHash: null };
  return (await createUser(db, systemActor(accountId), user)).id;
}

/** Memberships of Grace by account, such as `{ shop: 'member' }`, or `member by hand`. */
async function grace(): Promise<Record<string, string>> {
  const { rows } = await db.execute<{ slug: string; role: string }>(sql`
    select a.slug, m.role || case when m.is_from_group then '' else ' by hand' end as role
    from memberships m join users u on u.id = m.user_id join accounts a on a.id = m.account_id
    where u.email = ${GRACE.email}`);
  return Object.fromEntries(rows.map(({ slug, role }) => [slug, role]));
}

async function graceId(): Promise<string | undefined> {
  const { rows } = await db.execute<{ id: string }>(sql`select id from users where email = ${GRACE.email}`);
  return rows[0]?.id;
}

async function audited(accountId: string): Promise<unknown[]> {
  const { rows } = await db.execute(sql`
    select action, actor ->> 'name' as by from audit_log where account_id = ${accountId} order by timestamp`);
  return rows.slice(1);
}

describe('a member of an account with groups', () => {
  test.each<[string, string[] | null, string[] | null, string | undefined]>([
    ['gains a group', [], ['shop'], 'member'],
    ['gains two groups, and has the highest role', [], ['shop', 'other', 'shop-admins'], 'owner'],
    ['gets a higher role', ['shop'], ['shop-admins'], 'owner'],
    ['gets a lower role', ['shop-admins'], ['shop'], 'member'],
    ['keeps the role', ['shop'], ['shop'], 'member'],
    ['loses the group', ['shop'], [], undefined],
    ['has a group in other letter case', ['shop'], ['Shop'], undefined],
    ['has groups that the provider left out', ['shop'], null, 'member'],
  ])('%s', async (_, before, after, role) => {
    await addUser(shop, 'owner@example.com');
    await addUser(bank, GRACE.email, 'viewer');
    await signIn(before);
    expect(await signIn(after)).toEqual({ isUser: true, keptOwnerOf: [] });
    expect(await grace()).toEqual({ bank: 'viewer by hand', ...(role !== undefined && { shop: role }) });
  });

  test('who was added by hand stays as they are', async () => {
    await addUser(shop, GRACE.email, 'viewer');
    for (const groups of [['shop-admins'], []]) {
      await signIn(groups);
      expect(await grace()).toEqual({ shop: 'viewer by hand' });
    }
  });

  test('whose role was changed by hand stays as they are', async () => {
    await signIn(['shop']);
    await setUserRole(db, systemActor(shop), (await graceId()) ?? '', 'viewer');
    await signIn([]);
    expect(await grace()).toEqual({ shop: 'viewer by hand' });
  });

  test('is removed if the account gives up the group', async () => {
    await signIn(['shop', 'bank']);
    await updateAccount(db, actor, shop, { groups: [] });
    await signIn(['shop', 'bank']);
    expect(await grace()).toEqual({ bank: 'viewer' });
  });
});

test('a new person becomes a member of every account with one of the groups', async () => {
  expect(await hasGroups(db)).toBe(true);
  expect(await signIn(['shop', 'bank'], { email: 'Grace@Example.com' })).toMatchObject({ isUser: true });
  expect(await grace()).toEqual({ shop: 'member', bank: 'viewer' });
  for (const id of [shop, bank])
    expect(await audited(id)).toEqual([{ action: 'user.created', by: 'Single sign-on' }]);
});

test('a new person with an invitation joins by it, and other accounts by groups', async () => {
  const inviter = await addUser(shop, 'owner@example.com');
  const input = { role: 'viewer', email: GRACE.email } as const;
  await createInvitation(db, userActor(shop, inviter, 'Owner'), input);
  await signIn(['shop', 'bank']);
  expect(await grace()).toEqual({ shop: 'viewer by hand', bank: 'viewer' });
});

test.each<[string[] | null]>([[[]], [['other']], [null]])(
  'a new person with the groups %j does not become a user',
  async (groups) => {
    expect(await signIn(groups)).toMatchObject({ isUser: false });
    expect(await graceId()).toBeUndefined();
  },
);

test('a deleted account gives access to no group', async () => {
  for (const [id, slug] of [
    [shop, 'shop'],
    [bank, 'bank'],
  ] as const)
    await deleteAccount(db, actor, id, slug);
  expect(await signIn(['shop', 'bank'])).toMatchObject({ isUser: false });
  expect(await hasGroups(db)).toBe(false);
});

test.each([
  ['revoked', true, [{ action: 'apiKey.deleted', by: 'Single sign-on' }]],
  ['kept if the claim was absent', false, []],
])('a user without groups is deleted, and their API keys are %s', async (_, revokeApiKeys, keys) => {
  await addUser(shop, 'owner@example.com');
  await signIn(['shop']);
  const creator = userActor(shop, (await graceId()) ?? '', 'Grace');
  await createApiKey(db, creator, { name: 'CI' });
  expect(await signIn([], { revokeApiKeys })).toMatchObject({ isUser: false });
  expect(await graceId()).toBeUndefined();
  expect((await audited(shop)).slice(3)).toEqual([{ action: 'user.deleted', by: 'Single sign-on' }, ...keys]);
  expect((await db.execute(sql`select from api_keys`)).rowCount).toBe(revokeApiKeys ? 0 : 1);
});

test('an operator who loses the last group stays a user', async () => {
  await signIn(['shop']);
  await db.execute(sql`update users set is_operator = true`);
  expect(await signIn([])).toMatchObject({ isUser: true });
  expect(await grace()).toEqual({});
});

test('a user whose groups move to another account stays the same user', async () => {
  await signIn(['shop']);
  const id = await graceId();
  await signIn(['bank']);
  expect([await grace(), await graceId()]).toEqual([{ bank: 'viewer' }, id]);
});

test('the last owner of an account stays owner without the group, until there is another one', async () => {
  await signIn(['shop-admins']);
  for (const groups of [[], ['shop']]) {
    expect(await signIn(groups)).toEqual({ isUser: true, keptOwnerOf: ['shop'] });
    expect(await grace()).toEqual({ shop: 'owner' });
  }
  await addUser(shop, 'owner@example.com');
  expect(await signIn([])).toEqual({ isUser: false, keptOwnerOf: [] });
});

test.each([
  ['of a bound user', async () => signIn(['bank'])],
  [
    'that is not verified',
    async () => {
      await addUser(bank, GRACE.email, 'viewer');
      await db.execute(sql`update users set email_verified = false`);
    },
  ],
])('another identity with an address %s changes nothing', async (_, prepare) => {
  await prepare();
  const before = await grace();
  await signIn(['shop-admins'], { subject: 'eve' });
  expect(await grace()).toEqual(before);
});

test('two sign-ins of a new person at the same time create one user', async () => {
  let both: Promise<unknown[]> | undefined;
  await db.transaction(async (tx) => {
    await tx.execute(sql`select from accounts for update`);
    both = Promise.all([signIn(['shop', 'bank']), signIn(['bank', 'shop'])]);
    await untilWaiting(context, 2);
  });
  const admitted = { isUser: true, keptOwnerOf: [] };
  expect(await both).toEqual([admitted, admitted]);
  expect(await grace()).toEqual({ shop: 'member', bank: 'viewer' });
});

test('a sign-in does not fail because an account is being deleted', async () => {
  let admitted: Promise<unknown> | undefined;
  await db.transaction(async (tx) => {
    await deleteAccount(tx, actor, shop, 'shop');
    admitted = signIn(['shop', 'bank']);
    await untilWaiting(context, 1);
  });
  expect(await admitted).toMatchObject({ isUser: true });
  expect(await grace()).toEqual({ bank: 'viewer' });
});
