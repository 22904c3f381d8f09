import { OIDC_PROVIDER } from '@tocsin/db/users/single-sign-on';
import { SettingsError } from '@tocsin/runtime/env';
import { betterAuth } from 'better-auth/minimal';
import { genericOAuth } from 'better-auth/plugins/generic-oauth';
import type { Env } from '../settings.ts';
import { authOptions, type AuthSettings } from './auth-options.ts';
import { discoveryUrl, identifyPerson, type OidcSettings } from './identify-person.ts';

const RETRY_AFTER_MS = 5_000;

type Handler = (request: Request) => Promise<Response>;

/**
 * Sign-in by OpenID Connect for users, open invitations and groups (docs/adr/0006-sessions.md). Uses its own better-auth instance, so that an
 * outage of the provider affects neither sessions nor passwords.
 */
export function createSingleSignOn(settings: AuthSettings, oidc: OidcSettings): Handler {
  let connection = connect(settings, oidc);
  let triedAt = performance.now();
  return async function handle(request) {
    if (!(await connection.found) && performance.now() - triedAt > RETRY_AFTER_MS) {
      triedAt = performance.now();
      connection = connect(settings, oidc);
    }
    return connection.handle(request);
  };
}

interface Connection {
  readonly handle: Handler;
  /** True if the provider was reachable and can be trusted. */
  readonly found: Promise<boolean>;
}

function connect(settings: AuthSettings, oidc: OidcSettings): Connection {
  const auth = betterAuth({
    ...authOptions(settings),
    plugins: [
      genericOAuth({
        config: [
          {
            providerId: OIDC_PROVIDER,
            discoveryUrl: discoveryUrl(oidc),
            clientId: oidc.clientId,
            clientSecret: oidc.clientSecret,
            scopes: oidc.scopes.split(/\s+/),
            pkce: true,
            requireIdTokenVerification: true,
            // `admitPerson` creates users. better-auth then finds them by identity or address.
            disableSignUp: true,
            // Runs after the token is verified, before better-auth looks for the user.
            getUserInfo: (tokens) => identifyPerson(settings, oidc, tokens),
            accountSubject: ({ profile }) => profile.sub ?? '',
          },
        ],
      }),
    ],
  });
  const found = auth.$context.then(
    ({ socialProviders }) => socialProviders.some(({ id }) => id === OIDC_PROVIDER),
    () => false,
  );
  return { handle: auth.handler, found };
}

/** Null if none of the first three is set. @throws SettingsError if only some are set */
export function oidcSettings(env: Pick<Env, Extract<keyof Env, `OIDC_${string}`>>): OidcSettings | null {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret } = env;
  const { OIDC_SCOPES: scopes, OIDC_TRUST_EMAIL: trustEmail, OIDC_GROUPS_CLAIM: groupsClaim } = env;
  if (issuer !== undefined && clientId !== undefined && clientSecret !== undefined)
    return { issuer, clientId, clientSecret, scopes, trustEmail, groupsClaim };
  if (issuer === undefined && clientId === undefined && clientSecret === undefined) return null;
  throw new SettingsError('Set all of OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET, or none of them');
}
