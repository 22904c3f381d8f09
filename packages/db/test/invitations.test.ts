import { beforeEach, describe, expect, test } from '@jest/globals';
import type { User } from '@tocsin/contracts/people/user';
import { userActor } from '@tocsin/db/audit-log/actor';
import {
  acceptInvitation,
  acceptInvitationOf,
  createInvitation,
  deleteInvitation,
} from '@tocsin/db/users/invitations';
import { createUser, deleteUser, findUserByEmail } from '@tocsin/db/users/users';
import { sql } from 'drizzle-orm';
import { untilWaiting, useTestContext } from './harness.ts';

const context = await useTestContext();
const { db, accountId, actor } = context;

const BOB = 'bob@example.com';

let ownerId: string;
beforeEach(async () => {
  await db.execute(sql`truncate users, invitations cascade`);
  ({ id: ownerId } = await makeUser('owner@example.com'));
});

function makeUser(email: string): Promise<User> {
  return createUser(db, actor, {
    role: 'owner',
    name: 'Test user',
    email,
    emailVerified: true,
    passwordHash: null,
  });
}

async function invite(email: string | null = BOB): Promise<{ id: string; token: string }> {
  const actor = userActor(accountId, ownerId, 'Test user');
  const { invitation, token } = await createInvitation(db, actor, { role: 'owner', email });
  return { id: invitation.id, token };
}

function accept(token: string, email: string | null = null): Promise<User> {
  return acceptInvitation(db, { token, name: 'Bob', email, passwordHash: 'hash' });
}

describe('a removed user needs a new invitation', () => {
  test.each<[string, () => Promise<unknown>]>([
    ['by the link', async () => accept((await invite()).token)],
    ['by single sign-on', async () => acceptInvitationOf(db, BOB, 'Bob')],
    ['by a link without an address', async () => accept((await invite(null)).token, 'Bob@Example.com')],
  ])('who joined %s and had two invitations', async (_, come) => {
    const [one, two] = [await invite(), await invite()];
    await come();
    const bob = await findUserByEmail(db, BOB);
    await deleteUser(db, actor, bob?.id ?? '');
    for (const { token } of [one, two]) await expect(accept(token)).rejects.toThrow('invitation');
    expect(await acceptInvitationOf(db, BOB, 'Bob')).toBe(false);
    expect(await findUserByEmail(db, BOB)).toBeNull();
  });

  test('who was invited again before the removal, too', async () => {
    const { token } = await invite();
    const bob = await makeUser(BOB);
    await deleteUser(db, actor, bob.id);
    await expect(accept(token)).rejects.toMatchObject({ status: 404 });
  });

  test('an invitation created after the removal works, and invitations for others stay', async () => {
    const other = await invite('eve@example.com');
    const bob = await accept((await invite()).token);
    await deleteUser(db, actor, bob.id);
    expect(await accept((await invite()).token)).toMatchObject({ email: BOB });
    expect(await accept(other.token)).toMatchObject({ email: 'eve@example.com' });
  });
});

test('an invitation is either accepted or revoked, never both', async () => {
  const { id, token } = await invite();
  let accepted: Promise<User> | undefined;
  let revoked: Promise<unknown> | undefined;
  await db.transaction(async (tx) => {
    // No user can be created until this transaction ends.
    await tx.execute(sql`lock table users in share mode`);
    accepted = accept(token);
    await untilWaiting(context, 1);
    revoked = deleteInvitation(db, actor, id).catch((error: unknown) => error);
    await untilWaiting(context, 2);
  });
  expect(await accepted).toMatchObject({ email: BOB });
  expect(await revoked).toMatchObject({ status: 404 });
});
