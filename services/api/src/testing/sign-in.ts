import { randomUUID } from 'node:crypto';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import { createUser } from '@tocsin/db/users/create-user';
import type TestAgent from 'supertest/lib/agent.js';
import { judgedAgent } from './judged-agent.ts';
import { ORIGIN } from './test-api.ts';
import type { TestApi } from './test-api.ts';

export const PASSWORD = 'correct horse battery';
let passwordHash: Promise<string> | undefined;

export interface TestUser {
  readonly id: string;
  readonly email: string;
  /** As a browser sends it. */
  readonly cookie: string;
  /** Requests with the user's cookie, from the dashboard's own origin. */
  readonly agent: TestAgent;
}

interface TestUserOptions {
  readonly role?: UserRole;
  readonly accountId?: string;
  readonly email?: string;
}

/** Requests of a new user (an owner of `api.account`, unless said otherwise), with cookie and Origin. */
export async function signIn(api: TestApi, user: TestUserOptions = {}): Promise<TestAgent> {
  return (await newSignedInUser(api, user)).agent;
}

/** A new user who has signed in with `PASSWORD`. */
export async function newSignedInUser(api: TestApi, options: TestUserOptions = {}): Promise<TestUser> {
  const { id, email } = await newUser(api, options);
  const agent = browser(api);
  const response = await agent.post('/api/auth/sign-in/email').send({ email, password: PASSWORD });
  if (response.status !== 200) throw new Error(`not signed in: ${response.status} ${response.text}`);
  const [cookie = ''] = (response.headers['set-cookie'] ?? []) as unknown as string[];
  return { id, email, cookie: cookie.split(';', 1)[0] ?? '', agent };
}

/** A new user who can sign in with `PASSWORD`. */
export async function newUser(
  api: TestApi,
  { accountId = api.account.id, role = 'owner', email = `${randomUUID()}@example.com` }: TestUserOptions = {},
): Promise<{ id: string; email: string }> {
  passwordHash ??= api.context.identity.hashPassword(PASSWORD);
  const { id } = await createUser(api.context.db, {
    accountId,
    role,
    name: 'Test user',
    email,
    emailVerified: true,
    passwordHash: await passwordHash,
  });
  return { id, email };
}

/** Requests as the dashboard's page sends them: with its origin, and with the cookies it was given. */
export function browser(api: TestApi): TestAgent {
  return judgedAgent(`http://127.0.0.1:${api.port}`).set('Origin', ORIGIN);
}
