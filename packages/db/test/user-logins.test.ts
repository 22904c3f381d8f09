import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { userLogins } from '@tocsin/db/users/table';
import { createUser } from '@tocsin/db/users/users';
import { eq, sql } from 'drizzle-orm';
import { openTestContext, type TestContext } from './harness.ts';

const MIGRATION = new URL('../migrations/0011_logins-and-key-creators.sql', import.meta.url);

let context: TestContext;
beforeAll(async () => {
  context = await openTestContext();
});
afterAll(() => context.close());

test('the migration keeps the first login of a user with each provider', async () => {
  const { db, accountId } = context;
  const users = await Promise.all(
    ['one', 'two'].map((name) =>
      createUser(db, {
        accountId,
        role: 'owner',
        name,
        email: `${name}@example.com`,
        emailVerified: true,
        passwordHash: 'hash',
      }),
    ),
  );
  await db.execute(sql`drop index user_logins_user_provider_key`);
  await db.execute(sql`create index user_logins_user_idx on user_logins (user_id)`);
  const at = (minute: number): Date => new Date(Date.UTC(2026, 0, 1, 0, minute));
  for (const { id: userId, name } of users) {
    for (const [subject, minute] of [
      ['second', 2],
      ['first', 1],
      ['third', 3],
    ] as const)
      await db
        .insert(userLogins)
        .values({ userId, providerId: 'oidc', subject: `${name} ${subject}`, createdAt: at(minute) });
  }
  const statements = (await readFile(MIGRATION, 'utf8')).split('--> statement-breakpoint');
  for (const statement of statements.filter((text) => text.includes('"user_logins')))
    await db.execute(sql.raw(statement));
  const rows = await db.select().from(userLogins).where(eq(userLogins.providerId, 'oidc'));
  expect(rows.map(({ subject }) => subject).toSorted()).toEqual(['one first', 'two first']);
  expect(await db.select().from(userLogins)).toHaveLength(4);
});
