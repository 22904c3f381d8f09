import { createHmac, randomUUID } from 'node:crypto';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { sessions } from '@tocsin/db/users/table';
import { createUser } from '@tocsin/db/users/users';
import type TestAgent from 'supertest/lib/agent.js';
import { validatedAgent } from './validated-agent.ts';
import { ORIGIN, type TestApi } from './test-api.ts';

export const PASSWORD = 'correct horse battery';
/** Its hash by `hashPassword`, stored because each hash takes about 0.1 s. */
const PASSWORD_HASH =
  '35c3d8f596536f0192db077d3a1338bd:ea47e48fda56910be35609f7428a5a35b1e24eaa04152043bc512b80049ba57dff1c68c5772b3ec5042e8f7d332e3c950aa56cf5533a7a7a26390fd09c7fb806';
const WEEK_MS = 7 * 24 * 60 * 60 * 1_000;

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
  readonly name?: string;
}

/** Creates a user, by default an owner of `api.account`. @returns an agent that sends the user's cookie and the Origin */
export async function signIn(api: TestApi, user: TestUserOptions = {}): Promise<TestAgent> {
  return (await newSignedInUser(api, user)).agent;
}

/** @returns an agent of an operator who is a member of no account */
export async function signInAsOperator(api: TestApi): Promise<TestAgent> {
  const { id, agent } = await newSignedInUser(api);
  await api.database.pool.query('update users set is_operator = true where id = $1', [id]);
  await api.database.pool.query('delete from memberships where user_id = $1', [id]);
  return agent;
}

/** Creates a user with a session, without better-auth, because checking a password takes about 0.1 s. */
export async function newSignedInUser(api: TestApi, options: TestUserOptions = {}): Promise<TestUser> {
  const { id, email } = await newUser(api, options);
  const cookie = await newSession(api, id);
  const agent = browser(api);
  (agent as unknown as WithCookies).jar.setCookie(cookie, '127.0.0.1', '/');
  return { id, email, cookie, agent };
}

/** superagent keeps received cookies here. */
interface WithCookies {
  readonly jar: { setCookie(cookie: string, domain: string, path: string): void };
}

/** @returns the cookie of the session, signed as better-auth does */
async function newSession({ context, sessionSecret }: TestApi, userId: string): Promise<string> {
  const token = randomUUID();
  const expiresAt = new Date(Date.now() + WEEK_MS);
  await context.db.insert(sessions).values({ userId, token, expiresAt });
  const signature = createHmac('sha256', sessionSecret).update(token).digest('base64');
  return `tocsin.session_token=${encodeURIComponent(`${token}.${signature}`)}`;
}

/** A new user who can sign in with `PASSWORD`. */
export async function newUser(
  api: TestApi,
  options: TestUserOptions = {},
): Promise<{ id: string; email: string }> {
  const { accountId = api.account.id, role = 'owner', name = 'Test user' } = options;
  const { email = `${randomUUID()}@example.com` } = options;
  const { id } = await createUser(api.context.db, systemActor(accountId), {
    role,
    name,
    email,
    emailVerified: true,
    passwordHash: PASSWORD_HASH,
  });
  return { id, email };
}

/** Sends requests as the dashboard's page does, with its origin and the cookies that it received. */
export function browser(api: TestApi): TestAgent {
  return validatedAgent(`http://127.0.0.1:${api.port}`).set('Origin', ORIGIN);
}
