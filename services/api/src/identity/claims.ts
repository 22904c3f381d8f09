import type { SignInError } from '@tocsin/contracts/identity/sign-in-errors';
import { emailSchema } from '@tocsin/contracts/people/user';

/** Claims about a person, from the ID token and the userinfo endpoint. */
export type Claims = Readonly<Record<string, unknown>>;

export function isAbsent(claims: Claims, name: string): boolean {
  return claims[name] === undefined || claims[name] === null || claims[name] === '';
}

/** Merges claims of one person. Those of the ID token win, unless they are absent. */
export function mergeClaims(fromToken: Claims, userinfo: Claims): Claims {
  const present = Object.entries(fromToken).filter(([name]) => !isAbsent(fromToken, name));
  return { ...userinfo, ...Object.fromEntries(present) };
}

type Email = { readonly email: string } | { readonly error: SignInError };

/** Reads the address, in lower case. @param trustEmail accepts it without `email_verified` */
export function readEmail(claims: Claims, trustEmail: boolean): Email {
  const name = isAbsent(claims, 'email') ? 'preferred_username' : 'email';
  const { data: email } = emailSchema.safeParse(claims[name]);
  if (email === undefined) return { error: 'email_missing' };
  const { email_verified: verified } = claims;
  if (verified === true || verified === 'true') return { email };
  if (!isAbsent(claims, 'email_verified')) return { error: 'email_not_verified' };
  return trustEmail ? { email } : { error: 'email_verified_missing' };
}

/** Reads the groups in a claim. An absent claim means no groups. @returns null if the provider left them out because there are too many */
export function readGroups(claims: Claims, name: string): readonly string[] | null {
  if (isAbsent(claims, name)) return hasOverage(claims, name) ? null : [];
  const values: readonly unknown[] = [claims[name]].flat();
  return values.filter((value) => typeof value === 'string');
}

/** With too many groups, Entra ID refers to another service, which needs further permissions. */
function hasOverage({ _claim_names: elsewhere, hasgroups }: Claims, name: string): boolean {
  const isElsewhere = typeof elsewhere === 'object' && elsewhere !== null && Object.hasOwn(elsewhere, name);
  return isElsewhere || hasgroups === true || hasgroups === 'true';
}
