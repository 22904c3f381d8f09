import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, jest, test } from '@jest/globals';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import { systemActor, userActor } from '@tocsin/db/audit-log/actor';
import { createInvitation } from '@tocsin/db/users/invitations';
import { createUser } from '@tocsin/db/users/users';
import { type Claims, OIDC_CLIENT, startOidcProvider } from '../testing/oidc-provider.ts';
import { browser, newUser } from '../testing/sign-in.ts';
import { openTestApi, ORIGIN, useTestApi } from '../testing/test-api.ts';
import { oidcSettings } from './single-sign-on.ts';

const provider = await startOidcProvider();
const api = await useTestApi({ oidc: { issuer: provider.issuer, ...OIDC_CLIENT } });
afterAll(() => provider.close());

interface Outcome {
  /** The final URL of the browser. */
  readonly location: string;
  /** `GET /me` afterwards. */
  readonly me: { readonly status: number; readonly body: unknown };
}

const BEGIN = '/api/auth/sign-in/social';

async function signInAs(claims: Claims): Promise<Outcome> {
  const agent = browser(api);
  const begun = await agent.post(BEGIN).send({ provider: 'oidc', callbackURL: `${ORIGIN}/` });
  expect(begun.status).toBe(200);
  const { url } = begun.body as { url: string };
  expect(new URL(url).searchParams.get('scope')).toBe('openid email profile');
  const back = new URL(provider.authorize(url, claims));
  expect(back.origin + back.pathname).toBe(`${ORIGIN}/api/auth/callback/oidc`);
  const response = await agent.get(back.pathname + back.search);
  const { status, body } = await agent.get('/api/dashboard/me');
  return { location: String(response.headers['location']), me: { status, body } };
}

/** An open invitation of an owner. */
async function invite(email: string, role: UserRole = 'owner'): Promise<void> {
  const { id: createdBy } = await newUser(api);
  const actor = userActor(api.account.id, createdBy, 'Owner');
  await createInvitation(api.context.db, actor, { role, email });
}

async function isAccepted(email: string): Promise<boolean> {
  const accepted = 'select from invitations where email = $1 and accepted_at is not null';
  return (await api.database.pool.query(accepted, [email])).rowCount === 1;
}

describe('single sign-on', () => {
  test('signs a user in repeatedly, with the role of the account', async () => {
    const { email, id } = await newUser(api, { role: 'member' });
    const claims = { sub: 'person-1', email, email_verified: true, name: 'Other', role: 'owner' };
    for (let time = 0; time < 2; time += 1) {
      const { location, me } = await signInAs(claims);
      expect([location, me.body]).toEqual([
        `${ORIGIN}/`,
        expect.objectContaining({ user: expect.objectContaining({ id, role: 'member', name: 'Test user' }) }),
      ]);
    }
    const { rows } = await api.database.pool.query(
      'select access_token, refresh_token, id_token from user_logins where subject = $1',
      ['person-1'],
    );
    expect(rows).toEqual([{ access_token: null, refresh_token: null, id_token: null }]);
  });

  test('creates a user for an open invitation, once', async () => {
    const email = 'invited@example.com';
    await invite(email, 'member');
    const claims = { sub: 'person-2', email: 'Invited@Example.com', email_verified: true, name: 'Grace' };
    const { me } = await signInAs(claims);
    expect(me.body).toMatchObject({
      user: { email, role: 'member', name: 'Grace' },
      account: { id: api.account.id },
    });
    expect(await isAccepted(email)).toBe(true);
    expect((await signInAs(claims)).me.status).toBe(200);
  });

  test('may begin for a whole office behind one address, and is limited', async () => {
    const limited = await openTestApi({
      limitSignIn: true,
      oidc: { issuer: provider.issuer, ...OIDC_CLIENT },
    });
    // Otherwise, the limit would start again on a slow machine.
    const stopped = Date.now();
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => stopped);
    try {
      const begin = async (): Promise<number> =>
        (
          await browser(limited)
            .post(BEGIN)
            .send({ provider: 'oidc', callbackURL: `${ORIGIN}/` })
        ).status;
      const statuses: number[] = [];
      for (let count = 0; count < 101; count += 1) statuses.push(await begin());
      expect(statuses).toEqual([...Array<number>(100).fill(200), 429]);
    } finally {
      clock.mockRestore();
      await limited.close();
    }
  });

  test('admits no one else', async () => {
    const email = 'nobody@example.com';
    const { location, me } = await signInAs({ sub: 'person-3', email, email_verified: true });
    expect([location, me.status]).toEqual([`${ORIGIN}/sign-in?error=signup_disabled`, 401]);
    const late = 'late@example.com';
    await invite(late);
    await api.database.pool.query('update invitations set expires_at = now() where email = $1', [late]);
    expect((await signInAs({ sub: 'person-4', email: late, email_verified: true })).me.status).toBe(401);
    const { rowCount } = await api.database.pool.query('select from users where email = any($1)', [
      [email, late],
    ]);
    expect(rowCount).toBe(0);
  });

  test('does not take over a user whose address was never verified', async () => {
    const email = 'claimed@example.com';
    await createUser(api.context.db, systemActor(api.account.id), {
      role: 'member',
      name: 'Claimer',
      email,
      emailVerified: false,
      passwordHash: null,
    });
    expect((await signInAs({ sub: 'person-7', email, email_verified: true })).me.status).toBe(401);
  });

  test.each([
    [{ aud: 'another client' }],
    [{ aud: 'tocsin', azp: 'another client' }],
    [{ aud: ['tocsin', 'another client'], azp: 'another client' }],
    [{ aud: ['tocsin', 'another client'] }],
  ])('rejects a token that was issued to another client: %j', async (audience) => {
    const { email } = await newUser(api);
    const claims = { email_verified: true, ...audience };
    expect((await signInAs({ ...claims, sub: 'person-9', email })).me.status).toBe(401);
    const invited = `invited-${randomUUID()}@example.com`;
    await invite(invited);
    await signInAs({ ...claims, sub: 'person-10', email: invited });
    expect(await isAccepted(invited)).toBe(false);
  });

  test('rejects another identity with the verified address of a linked user', async () => {
    const { email, id } = await newUser(api);
    const claims = { email, email_verified: true };
    expect((await signInAs({ ...claims, sub: 'linked' })).me.status).toBe(200);
    const { location, me } = await signInAs({ ...claims, sub: 'not linked' });
    expect([location, me.status]).toEqual([`${ORIGIN}/sign-in?error=unable_to_link_account`, 401]);
    expect((await signInAs({ ...claims, sub: 'linked' })).me.body).toMatchObject({ user: { id } });
  });

  test('links one of two identities that arrive at the same time with one address', async () => {
    const { email } = await newUser(api);
    const subjects = Array.from({ length: 6 }, (_, index) => `race-${index}`);
    const outcomes = await Promise.all(subjects.map((sub) => signInAs({ sub, email, email_verified: true })));
    expect(outcomes.filter(({ me }) => me.status === 200)).toHaveLength(1);
  });

  test.each([[{ error: 'invalid_token' }], [{ sub: 'another' }]])(
    'does not use userinfo that is %j',
    async (userinfo) => {
      const { email } = await newUser(api);
      provider.setUserinfo({ ...userinfo, email_verified: true });
      const { location, me } = await signInAs({ sub: `userinfo of ${email}`, email });
      provider.setUserinfo(null);
      expect([location, me.status]).toEqual([`${ORIGIN}/sign-in?error=userinfo_failed`, 401]);
    },
  );

  test.each([
    ['idToken', {}],
    ['scopes', ['admin']],
    ['additionalData', { link: { userId: 'x', email: 'x' } }],
    ['errorCallbackURL', `${ORIGIN}/`],
    ['provider', 'google'],
    ['callbackURL', undefined],
  ])('begins with a provider and a callback URL only: %s is a 400', async (field, value) => {
    const { email } = await newUser(api);
    const claims = { sub: `token-${field}`, email, email_verified: true, azp: 'another client' };
    const given = field === 'idToken' ? { token: provider.idToken(claims) } : value;
    const agent = browser(api);
    const response = await agent
      .post(BEGIN)
      .send({ provider: 'oidc', callbackURL: `${ORIGIN}/`, [field]: given });
    expect([response.status, response.body]).toMatchObject([400, { errors: [{ path: field }] }]);
    expect(response.headers).not.toHaveProperty('set-cookie');
    expect((await agent.get('/api/dashboard/me')).status).toBe(401);
  });

  test('never redirects to another site', async () => {
    const body = { provider: 'oidc', callbackURL: 'https://evil.example/' };
    expect((await browser(api).post(BEGIN).send(body)).status).toBe(403);
  });

  test('ignores further parameters of the provider in the callback', async () => {
    const { email } = await newUser(api);
    const agent = browser(api);
    const begun = await agent.post(BEGIN).send({ provider: 'oidc', callbackURL: `${ORIGIN}/` });
    const claims = { sub: 'person-11', email, email_verified: true };
    const back = new URL(provider.authorize((begun.body as { url: string }).url, claims));
    back.searchParams.append('session_state', 'x');
    back.searchParams.append('user', '{"email":"other@example.com"}');
    const response = await agent.get(back.pathname + back.search);
    expect(response.headers['location']).toBe(`${ORIGIN}/`);
    expect((await agent.get('/api/auth/callback/google')).status).toBe(404);
  });

  test('is offered if it is configured', async () => {
    const path = '/api/dashboard/sign-in-methods';
    expect((await browser(api).get(path)).body).toMatchObject({
      methods: ['password', 'oidc'],
      hasUsers: true,
    });
  });

  test('alone is affected by an unavailable provider', async () => {
    provider.setUnavailable(true);
    const dark = await openTestApi({ oidc: { issuer: provider.issuer, ...OIDC_CLIENT } });
    try {
      const begun = await browser(dark).post(BEGIN).send({ provider: 'oidc', callbackURL: ORIGIN });
      expect(begun.status).toBe(404);
      expect((await browser(dark).get('/api/dashboard/sign-in-methods')).status).toBe(200);
    } finally {
      provider.setUnavailable(false);
      await dark.close();
    }
  });
});

test('its settings must be set together', () => {
  const env = { OIDC_ISSUER: 'https://a.example', OIDC_CLIENT_ID: 'a', OIDC_CLIENT_SECRET: 'b' };
  const defaults = { OIDC_SCOPES: 'openid', OIDC_TRUST_EMAIL: false, OIDC_GROUPS_CLAIM: 'groups' };
  expect(oidcSettings(defaults)).toBeNull();
  expect(oidcSettings({ ...defaults, ...env })).toEqual({
    issuer: 'https://a.example',
    clientId: 'a',
    clientSecret: 'b',
    scopes: 'openid',
    trustEmail: false,
    groupsClaim: 'groups',
  });
  for (const name of Object.keys(env))
    expect(() => oidcSettings({ ...defaults, ...env, [name]: undefined })).toThrow(/^Set all of OIDC_ISSUER/);
});
