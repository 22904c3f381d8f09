import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, test } from '@jest/globals';
import { updateAccount } from '@tocsin/db/accounts/accounts';
import { systemActor, userActor } from '@tocsin/db/audit-log/actor';
import { createApiKey } from '@tocsin/db/api-keys/api-keys';
import { createInvitation } from '@tocsin/db/users/invitations';
import { findUserByEmail } from '@tocsin/db/users/users';
import { type ProviderClaims, startCertifiedProvider } from '../testing/certified-provider.ts';
import { OIDC_CLIENT } from '../testing/oidc-provider.ts';
import { MONITORS } from '../testing/monitors.ts';
import { browser, newUser } from '../testing/sign-in.ts';
import { openTestApi, ORIGIN, type TestApi } from '../testing/test-api.ts';

const provider = await startCertifiedProvider();
const oidc = { ...OIDC_CLIENT, issuer: provider.issuer };
const apis = {
  strict: await openTestApi({ oidc }),
  trusting: await openTestApi({ oidc: { ...oidc, trustEmail: true } }),
  roles: await openTestApi({ oidc: { ...oidc, groupsClaim: 'roles' } }),
};
afterAll(async () => {
  await Promise.all([provider.close(), ...Object.values(apis).map((api) => api.close())]);
});
for (const { context, account } of Object.values(apis)) {
  const groups = [
    { group: 'shop', role: 'viewer' },
    { group: 'developers', role: 'member' },
  ] as const;
  await updateAccount(context.db, systemActor(account.id), account.id, { groups: [...groups] });
}
const { id: inviterId } = await newUser(apis.strict);
const { id: otherInviterId } = await newUser(apis.trusting);

/** @returns the role afterwards, or the error on the sign-in page */
async function signIn(api: TestApi, claims: ProviderClaims, subject: string = randomUUID()): Promise<string> {
  const agent = browser(api);
  const body = { provider: 'oidc', callbackURL: `${ORIGIN}/` };
  const begun = await agent.post('/api/auth/sign-in/social').send(body);
  const back = await provider.authorize((begun.body as { url: string }).url, subject, claims);
  const response = await agent.get(back.pathname + back.search);
  const location = new URL(String(response.headers['location']));
  const error = location.searchParams.get('error');
  if (error !== null) return error;
  expect(location.href).toBe(`${ORIGIN}/`);
  const me = await agent.get('/api/dashboard/me');
  return (me.body as { user: { role: string } }).user.role;
}

type Trust = 'strict' | 'trusting';
type Who = 'user' | 'invited' | 'in a group' | 'unknown';

/** Prepares a person with this address. @returns the role that a successful sign-in gives */
async function prepare(trust: Trust, who: Who, email: string): Promise<string> {
  const api = apis[trust];
  if (who === 'user') {
    await newUser(api, { email, role: 'owner' });
    return 'owner';
  }
  if (who === 'invited') {
    const inviter = trust === 'strict' ? inviterId : otherInviterId;
    const actor = userActor(api.account.id, inviter, 'Owner');
    await createInvitation(api.context.db, actor, { role: 'member', email });
    return 'member';
  }
  return who === 'in a group' ? 'viewer' : 'signup_disabled';
}

/** Error of an address that is not accepted, whoever has it. */
function refusalOf(trust: Trust, verified: unknown, claim: string): string | null {
  if (claim === 'none' || claim === 'user name') return 'email_missing';
  if (verified === true || verified === 'true') return null;
  if (verified !== undefined) return 'email_not_verified';
  return trust === 'trusting' ? null : 'email_verified_missing';
}

const addressClaims: Record<string, (address: string) => Record<string, string>> = {
  email: (address) => ({ email: address, preferred_username: 'grace' }),
  'user name with the form of an address': (address) => ({ preferred_username: address }),
  'user name': () => ({ preferred_username: 'grace' }),
  none: () => ({}),
};

describe.each<Trust>(['strict', 'trusting'])('an api that is %s', (trust) => {
  describe.each([[true], ['true'], [undefined], [false], ['false']])('with email_verified %j', (verified) => {
    describe.each(Object.keys(addressClaims))('and the address as %s', (claim) => {
      test.each<Who>(['user', 'invited', 'in a group', 'unknown'])('decides on a person: %s', async (who) => {
        const email = `${randomUUID()}@example.com`;
        const role = await prepare(trust, who, email);
        const groups = who === 'in a group' ? ['shop'] : [];
        const claims = { email_verified: verified, groups };
        const expected = refusalOf(trust, verified, claim) ?? role;
        for (const address of [email, `${email.slice(0, 8).toUpperCase()}${email.slice(8)}`]) {
          const sent = { ...claims, ...addressClaims[claim]?.(address) };
          expect(await signIn(apis[trust], { idToken: sent }, email)).toBe(expected);
        }
      });
    });
  });
});

describe('claims', () => {
  const email = () => ({ email: `${randomUUID()}@example.com`, email_verified: true });

  test.each<[string, ProviderClaims, string]>([
    ['only at the userinfo endpoint', { userinfo: { ...email(), groups: ['shop'] } }, 'viewer'],
    ['in both places', { idToken: { ...email(), groups: null }, userinfo: { groups: ['shop'] } }, 'viewer'],
    ['with one group', { idToken: { ...email(), groups: 'shop' } }, 'viewer'],
    ['without groups', { idToken: email() }, 'groups_missing'],
    [
      'with too many groups',
      { idToken: { ...email(), _claim_names: { groups: 'src1' }, _claim_sources: { src1: {} } } },
      'groups_overage',
    ],
  ])('%s', async (_, claims, expected) => {
    expect(await signIn(apis.strict, claims)).toBe(expected);
  });

  test('have the groups in the claim of the settings', async () => {
    const claims = { ...email(), groups: ['other'], roles: ['shop'] };
    expect(await signIn(apis.roles, { idToken: claims })).toBe('viewer');
  });

  test('follow a person who gains and loses a group', async () => {
    const claims = email();
    const signInWith = (groups: string[]): Promise<string> =>
      signIn(apis.strict, { idToken: { ...claims, groups } }, claims.email);
    expect(await signInWith([])).toBe('signup_disabled');
    expect(await signInWith(['shop'])).toBe('viewer');
    expect(await signInWith([])).toBe('signup_disabled');
  });

  test('without groups end a membership, but keep API keys', async () => {
    const { context, account } = apis.strict;
    const claims = email();
    const signInWith = (groups?: string[]): Promise<string> =>
      signIn(apis.strict, { idToken: { ...claims, groups } }, claims.email);
    expect(await signInWith(['developers'])).toBe('member');
    const { id = '' } = (await findUserByEmail(context.db, claims.email)) ?? {};
    const { key } = await createApiKey(context.db, userActor(account.id, id, 'Grace'), { name: 'CI' });
    expect(await signInWith()).toBe('groups_missing');
    expect((await apis.strict.as(key).get(MONITORS)).status).toBe(200);
    expect(await signInWith(['developers'])).toBe('member');
  });
});
