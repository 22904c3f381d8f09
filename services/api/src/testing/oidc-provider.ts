import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface Claims extends Record<string, unknown> {
  readonly sub: string;
  readonly email?: string;
  readonly email_verified?: unknown;
  readonly name?: string;
}

/** An OpenID Connect provider on loopback that authenticates any given person. */
export interface OidcProvider {
  readonly issuer: string;
  /** Signs in the person of these claims at this authorization URL. @returns the URL that the browser is redirected to */
  authorize(url: string, claims: Claims): string;
  /** An ID token that does not belong to a sign-in, because it has no nonce. */
  idToken(claims: Claims): string;
  /** Gives the provider a userinfo endpoint with these claims, or removes it. With `error`, it responds with 400. */
  setUserinfo(claims: Readonly<Record<string, unknown>> | null): void;
  /** Makes the provider respond with 503. */
  setUnavailable(unavailable: boolean): void;
  close(): Promise<void>;
}

const CLIENT = { id: 'tocsin', secret: 'client secret' } as const;
export const OIDC_CLIENT = {
  clientId: CLIENT.id,
  clientSecret: CLIENT.secret,
  scopes: 'openid email profile',
  trustEmail: false,
  groupsClaim: 'groups',
} as const;

export async function startOidcProvider(): Promise<OidcProvider> {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const grants = new Map<string, { claims: Claims; nonce: string | null; challenge: string | null }>();
  let userinfo: Readonly<Record<string, unknown>> | null = null;
  let unavailable = false;
  let issuer = '';

  function idToken(claims: Claims, nonce: string | null): string {
    const now = Math.floor(Date.now() / 1_000);
    const payload = {
      iss: issuer,
      aud: CLIENT.id,
      iat: now,
      exp: now + 300,
      nonce: nonce ?? undefined,
      ...claims,
    };
    const unsigned = [{ alg: 'RS256', kid: 'one' }, payload]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    return `${unsigned}.${sign('sha256', Buffer.from(unsigned), privateKey).toString('base64url')}`;
  }

  async function token(req: IncomingMessage): Promise<unknown> {
    const form = new URLSearchParams(await text(req));
    const grant = grants.get(form.get('code') ?? '');
    grants.delete(form.get('code') ?? '');
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    const isClient = form.get('client_secret') === CLIENT.secret;
    if (grant === undefined || !isClient || grant.challenge !== challenge) return { error: 'invalid_grant' };
    return { access_token: randomUUID(), token_type: 'Bearer', id_token: idToken(grant.claims, grant.nonce) };
  }

  const responses: Record<string, (req: IncomingMessage) => unknown> = {
    '/.well-known/openid-configuration': () => ({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      userinfo_endpoint: userinfo === null ? undefined : `${issuer}/userinfo`,
      id_token_signing_alg_values_supported: ['RS256'],
    }),
    '/jwks': () => ({
      keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'RS256', use: 'sig' }],
    }),
    '/userinfo': () => userinfo,
    '/token': token,
  };
  const server = createServer((req, res) => {
    const respond = unavailable ? undefined : responses[req.url ?? ''];
    if (respond === undefined) return void res.writeHead(503).end();
    void Promise.resolve(respond(req)).then((body) => {
      const status = typeof body === 'object' && body !== null && 'error' in body ? 400 : 200;
      res.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    issuer,
    authorize(url, claims) {
      const { searchParams } = new URL(url);
      const code = randomUUID();
      grants.set(code, {
        claims,
        nonce: searchParams.get('nonce'),
        challenge: searchParams.get('code_challenge'),
      });
      const state = searchParams.get('state') ?? '';
      return `${searchParams.get('redirect_uri')}?${new URLSearchParams({ code, state }).toString()}`;
    },
    idToken: (claims) => idToken(claims, null),
    setUserinfo: (claims) => void (userinfo = claims),
    setUnavailable: (now) => void (unavailable = now),
    close: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
