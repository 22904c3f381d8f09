import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { jest } from '@jest/globals';
import { OIDC_CLIENT } from './oidc-provider.ts';
import { ORIGIN } from './test-api.ts';

type Claims = Readonly<Record<string, unknown>>;

/** Claims about a person besides `sub`. */
export interface ProviderClaims {
  readonly idToken?: Claims;
  readonly userinfo?: Claims;
}

/** A certified OpenID Connect provider (`oidc-provider`) on loopback. */
export interface CertifiedProvider {
  readonly issuer: string;
  /** Signs in a person at this authorization URL. @returns the URL that the browser is redirected to */
  authorize(url: string, subject: string, claims: ProviderClaims): Promise<URL>;
  close(): Promise<void>;
}

export async function startCertifiedProvider(): Promise<CertifiedProvider> {
  // It prints that stores in memory are not for production.
  for (const method of ['info', 'warn'] as const)
    jest.spyOn(console, method).mockImplementation(() => undefined);
  const { Provider } = await import('oidc-provider');
  const people = new Map<string, ProviderClaims>();
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { clientId, clientSecret, scopes } = OIDC_CLIENT;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        token_endpoint_auth_method: 'client_secret_post',
        redirect_uris: [`${ORIGIN}/api/auth/callback/oidc`],
      },
    ],
    claims: {
      openid: ['sub', 'groups', 'roles'],
      email: ['email', 'email_verified'],
      profile: ['name', 'preferred_username'],
    },
    conformIdTokenClaims: false,
    cookies: { keys: ['signing key of cookies'] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    findAccount: (_context, sub) => ({
      accountId: sub,
      claims: async (use) => ({ sub, ...people.get(sub)?.[use === 'id_token' ? 'idToken' : 'userinfo'] }),
    }),
    // Everyone consents.
    loadExistingGrant: async ({ oidc }) => {
      const grant = new provider.Grant({ clientId, accountId: oidc.session?.accountId });
      grant.addOIDCScope(scopes);
      await grant.save();
      return grant;
    },
  });
  const handle = provider.callback();
  server.on('request', (req, res) => {
    const { pathname, searchParams } = new URL(req.url ?? '/', issuer);
    if (!pathname.startsWith('/interaction/')) return void handle(req, res);
    const login = { accountId: searchParams.get('subject') ?? '' };
    void provider.interactionFinished(req, res, { login });
  });
  return {
    issuer,
    async authorize(url, subject, claims) {
      people.set(subject, claims);
      const cookies = new Map<string, string>();
      for (let at = new URL(url); ;) {
        if (at.origin !== issuer) return at;
        if (at.pathname.startsWith('/interaction/')) at.searchParams.set('subject', subject);
        const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
        const response = await fetch(at, { headers: { cookie }, redirect: 'manual' });
        for (const header of response.headers.getSetCookie()) {
          const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(header) ?? [];
          cookies.set(name, value);
        }
        const location = response.headers.get('location');
        if (location === null) throw new Error(`${at.pathname}: ${response.status} ${await response.text()}`);
        at = new URL(location, issuer);
      }
    },
    close: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
