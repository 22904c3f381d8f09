import { EventEmitter, once } from 'node:events';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { User } from '@tocsin/contracts/people/user';
import { systemActor, userActor } from '@tocsin/db/audit-log/actor';
import { deleteUser } from '@tocsin/db/users/users';
import {
  acceptInvitation,
  acceptInvitationOf,
  createInvitation,
  deleteInvitation,
} from '@tocsin/db/users/invitations';
import { createUser, findUserByEmail } from '@tocsin/db/users/users';
import { sql } from 'drizzle-orm';
import { openTestContext, type TestContext, untilWaiting } from './harness.ts';

const BOB = 'bob@example.com';

let context: TestContext;
let ownerId: string;
beforeAll(async () => {
  context = await openTestContext();
});
afterAll(() => context.close());
beforeEach(async () => {
  await context.db.execute(sql`truncate users, invitations cascade`);
  ({ id: ownerId } = await makeUser('owner@example.com'));
});

function makeUser(email: string): Promise<User> {
  const { accountId } = context;
  return createUser(context.db, systemActor(accountId), {
    role: 'owner',
    name: 'Test user',
    email,
    emailVerified: true,
    passwordHash: null,
  });
}

async function invite(email: string | null = BOB): Promise<{ id: string; token: string }> {
  const actor = userActor(context.accountId, ownerId, 'Test user');
  const { invitation, token } = await createInvitation(context.db, actor, { role: 'owner', email });
  return { id: invitation.id, token };
}

function accept(token: string, email: string | null = null): Promise<User> {
  return acceptInvitation(context.db, { token, name: 'Bob', email, passwordHash: 'hash' });
}

describe('a removed user needs a new invitation', () => {
  test.each<[string, () => Promise<unknown>]>([
    ['by the link', async () => accept((await invite()).token)],
    ['by single sign-on', async () => acceptInvitationOf(context.db, BOB, 'Bob')],
    ['by a link without an address', async () => accept((await invite(null)).token, 'Bob@Example.com')],
  ])('who joined %s and had two invitations', async (_, come) => {
    const [one, two] = [await invite(), await invite()];
    await come();
    const bob = await findUserByEmail(context.db, BOB);
    await deleteUser(context.db, systemActor(context.accountId), bob?.id ?? '');
    for (const { token } of [one, two]) await expect(accept(token)).rejects.toThrow('invitation');
    expect(await acceptInvitationOf(context.db, BOB, 'Bob')).toBe(false);
    expect(await findUserByEmail(context.db, BOB)).toBeNull();
  });

  test('who was invited again before the removal', async () => {
    const { token } = await invite();
    const bob = await makeUser(BOB);
    await deleteUser(context.db, systemActor(context.accountId), bob.id);
    await expect(accept(token)).rejects.toMatchObject({ status: 404 });
  });

  test('an invitation created after the removal works, and invitations for others stay', async () => {
    const other = await invite('eve@example.com');
    const bob = await accept((await invite()).token);
    await deleteUser(context.db, systemActor(context.accountId), bob.id);
    expect(await accept((await invite()).token)).toMatchObject({ email: BOB });
    expect(await accept(other.token)).toMatchObject({ email: 'eve@example.com' });
  });
});

test('an invitation is either accepted or withdrawn, never both', async () => {
  const { id, token } = await invite();
  const gate = await openGate();
  const accepted = accept(token);
  await untilWaiting(context, 1);
  const takenBack = settled(deleteInvitation(context.db, systemActor(context.accountId), id));
  await untilWaiting(context, 2);
  await gate.open();
  expect(await accepted).toMatchObject({ email: BOB });
  expect(await takenBack).toMatchObject({ status: 404 });
});

/** No user can be created until the gate is opened. */
async function openGate(): Promise<{ open(): Promise<void> }> {
  const gate = new EventEmitter();
  const shut = once(gate, 'shut');
  const held = context.db.transaction(async (tx) => {
    await tx.execute(sql`lock table users in share mode`);
    const opened = once(gate, 'open');
    gate.emit('shut');
    await opened;
  });
  await shut;
  return {
    open: () => {
      gate.emit('open');
      return held;
    },
  };
}

/** What a promise rejects with, or its value. */
function settled(promise: Promise<unknown>): Promise<unknown> {
  return promise.catch((error: unknown) => error);
}
