import { acceptInvitationOf } from '@tocsin/db/users/invitations';
import { SettingsError } from '@tocsin/runtime/env';
import { betterAuth } from 'better-auth/minimal';
import { genericOAuth } from 'better-auth/plugins/generic-oauth';
import type { Env } from '../settings.ts';
import { authOptions, type AuthSettings } from './auth-options.ts';

/** Also in the callback: `/api/auth/callback/oidc`. */
const OIDC_PROVIDER = 'oidc';
const RETRY_AFTER_MS = 5_000;

export interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

type Handler = (request: Request) => Promise<Response>;

/**
 * Sign-in by OpenID Connect for users and open invitations (docs/adr/0006-sessions.md). Uses its own better-auth instance, so that an
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
            discoveryUrl: `${oidc.issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`,
            clientId: oidc.clientId,
            clientSecret: oidc.clientSecret,
            scopes: ['openid', 'email', 'profile'],
            pkce: true,
            requireIdTokenVerification: true,
            // Users come only from invitations. better-auth then finds them by address.
            disableSignUp: true,
            mapProfileToUser: (profile) => ({ emailVerified: isVerified(profile) }),
            // Runs after the token is verified, before better-auth looks for the user. An empty subject refuses the sign-in.
            accountSubject: async ({ tokens, profile }) => {
              if (!isIssuedTo(oidc.clientId, claimsOf(tokens.idToken))) return '';
              const { email, name } = profile;
              const sub = profile.sub ?? '';
              if (sub === '' || !isVerified(profile) || typeof email !== 'string') return sub;
              try {
                await acceptInvitationOf(settings.db, email, name?.trim() || (email.split('@', 1)[0] ?? ''));
              } catch (error) {
                // better-auth reports it as an error of the provider.
                settings.logger.error('Could not accept an invitation at sign-in', { error });
                throw error;
              }
              return sub;
            },
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

/** True if the provider vouches for the address. */
function isVerified(profile: Readonly<Record<string, unknown>>): boolean {
  return profile['email_verified'] === true && typeof profile['email'] === 'string';
}

/** OpenID Connect Core 1.0, section 3.1.3.7: several audiences require an authorized party, which must be this client. */
function isIssuedTo(clientId: string, { azp, aud }: Readonly<Record<string, unknown>>): boolean {
  return azp === clientId || (azp === undefined && !(Array.isArray(aud) && aud.length > 1));
}

/** Claims of an ID token that better-auth has verified. @throws Error if it is malformed */
function claimsOf(idToken: string | undefined): Readonly<Record<string, unknown>> {
  const [, claims = ''] = idToken?.split('.') ?? [];
  return JSON.parse(Buffer.from(claims, 'base64url').toString('utf8')) as Record<string, unknown>;
}

/** Null if none of the three is set. @throws SettingsError if only some are set */
export function oidcSettings(
  env: Pick<Env, 'OIDC_ISSUER' | 'OIDC_CLIENT_ID' | 'OIDC_CLIENT_SECRET'>,
): OidcSettings | null {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret } = env;
  if (issuer !== undefined && clientId !== undefined && clientSecret !== undefined)
    return { issuer, clientId, clientSecret };
  if (issuer === undefined && clientId === undefined && clientSecret === undefined) return null;
  throw new SettingsError('Set all of OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET, or none of them');
}
