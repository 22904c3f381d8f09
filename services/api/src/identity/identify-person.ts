import type { SignInError } from '@tocsin/contracts/identity/sign-in-errors';
import { admitPerson, hasGroups } from '@tocsin/db/users/single-sign-on';
import { APIError } from 'better-auth/api';
import type { AuthSettings } from './auth-options.ts';
import { type Claims, isAbsent, mergeClaims, readEmail, readGroups } from './claims.ts';

const TIMEOUT_MS = 10_000;

export interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Separated by spaces. */
  readonly scopes: string;
  /** True if an address counts as verified without `email_verified`. */
  readonly trustEmail: boolean;
  /** Name of the claim with the groups of a person. */
  readonly groupsClaim: string;
}

interface Tokens {
  /** Verified. */
  readonly idToken?: string | undefined;
  readonly accessToken?: string | undefined;
}

/** better-auth finds the user by these fields. */
type Profile = Readonly<Record<'sub' | 'email' | 'name', string>> & { readonly emailVerified: true };

/**
 * Identifies the person of an ID token, and creates or deletes the user by invitation and groups.
 * @returns null if the token is for another client @throws APIError that redirects to the sign-in page
 */
export async function identifyPerson(
  settings: AuthSettings,
  oidc: OidcSettings,
  tokens: Tokens,
): Promise<Profile | null> {
  const { db, logger } = settings;
  const { trustEmail, groupsClaim } = oidc;
  const fromToken = claimsOf(tokens.idToken);
  const { sub } = fromToken;
  if (typeof sub !== 'string' || sub === '' || !isIssuedTo(oidc.clientId, fromToken)) return null;

  const usesGroups = await hasGroups(db);
  const needed = ['email', ...(trustEmail ? [] : ['email_verified']), ...(usesGroups ? [groupsClaim] : [])];
  let claims = fromToken;
  if (needed.some((name) => isAbsent(fromToken, name))) {
    const userinfo = await readUserinfo(oidc, tokens.accessToken, sub).catch((error: unknown) => {
      throw refuse(settings, 'userinfo_failed', fromToken, error);
    });
    claims = mergeClaims(fromToken, userinfo);
  }

  const read = readEmail(claims, trustEmail);
  if ('error' in read) throw refuse(settings, read.error, claims);
  const { email } = read;
  const groups = readGroups(claims, groupsClaim);
  if (usesGroups && groups === null)
    logger.warn(
      'The identity provider left out the groups of a user who has too many. Configure it to send only groups assigned to Tocsin',
    );
  const given = typeof claims['name'] === 'string' ? claims['name'].trim() : '';
  const name = given === '' ? (email.split('@', 1)[0] ?? '') : given;
  const revokeApiKeys = !isAbsent(claims, groupsClaim);
  const person = { subject: sub, email, name, groups, revokeApiKeys };
  const { isUser, keptOwnerOf } = await admitPerson(db, person);
  for (const account of keptOwnerOf)
    logger.warn('The last owner of an account is no longer in a group with this role, but remains an owner', {
      account,
    });
  if (!isUser && usesGroups) {
    if (groups === null) throw refuse(settings, 'groups_overage', claims);
    if (isAbsent(claims, groupsClaim)) throw refuse(settings, 'groups_missing', claims);
  }
  return { sub, email, emailVerified: true, name };
}

function refuse(
  { logger, publicUrl }: AuthSettings,
  reason: SignInError,
  claims: Claims,
  error?: unknown,
): APIError {
  logger.warn('Refused a single sign-on', { reason, claims: Object.keys(claims), error });
  return new APIError('FOUND', undefined, { location: `${publicUrl}/sign-in?error=${reason}` });
}

/** Decodes a verified ID token. Returns no claims without a token. */
function claimsOf(idToken: string | undefined): Claims {
  const [, claims = ''] = idToken?.split('.') ?? ['', 'e30'];
  return JSON.parse(Buffer.from(claims, 'base64url').toString('utf8')) as Claims;
}

/** OpenID Connect Core 1.0, section 3.1.3.7: several audiences require an authorized party, which must be this client. */
function isIssuedTo(clientId: string, { azp, aud }: Claims): boolean {
  return azp === clientId || (azp === undefined && !(Array.isArray(aud) && aud.length > 1));
}

export function discoveryUrl({ issuer }: OidcSettings): string {
  return `${issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`;
}

/** Reads claims from the userinfo endpoint. Returns none if the provider has no such endpoint. @throws Error if they are not about this person */
async function readUserinfo(
  oidc: OidcSettings,
  accessToken: string | undefined,
  sub: string,
): Promise<Claims> {
  const { userinfo_endpoint: endpoint } = await fetchClaims(discoveryUrl(oidc));
  if (typeof endpoint !== 'string' || accessToken === undefined) return {};
  const claims = await fetchClaims(endpoint, { authorization: `Bearer ${accessToken}` });
  // OpenID Connect Core 1.0, section 5.3.2.
  if (claims['sub'] !== sub) throw new Error('the userinfo endpoint returned another subject');
  return claims;
}

async function fetchClaims(url: string, headers: Record<string, string> = {}): Promise<Claims> {
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (!response.ok) throw new Error(`${url} responded with ${response.status}`);
  return (await response.json()) as Claims;
}
