import { queryOptions, useSuspenseQuery } from '@tanstack/react-query';
import type { Me } from '@tocsin/contracts/people/user';
import { request } from '../api/request.ts';

/** Who is signed in. Rejects with a 401 where nobody is. */
export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: ({ signal }) => request<Me>('GET', '/api/dashboard/me', { signal }),
  staleTime: 60_000,
  // Pages outside of the session wait for its answer, and must not begin to wait again.
  refetchInterval: false,
  // The router decides what a 401 means here.
  meta: { session: true },
});

/** Which region checks monitors that name none; for pages behind a session. */
export function useDefaultRegion(): string {
  return useSuspenseQuery(meQuery).data.account.defaultRegion;
}

export type SignInMethod = 'password' | 'oidc';

export const signInMethodsQuery = queryOptions({
  queryKey: ['sign-in-methods'],
  queryFn: ({ signal }) =>
    request<{ methods: SignInMethod[] }>('GET', '/api/dashboard/sign-in-methods', { signal }),
  staleTime: Infinity,
});

export async function signIn(email: string, password: string): Promise<void> {
  await request('POST', '/api/auth/sign-in/email', { body: { email, password } });
}

/** Leaves for the identity provider's page. */
export async function signInWithProvider(from: string): Promise<void> {
  const { url } = await request<{ url: string }>('POST', '/api/auth/sign-in/social', {
    body: { provider: 'oidc', callbackURL: from },
  });
  window.location.assign(url);
}

export async function signOut(): Promise<void> {
  await request('POST', '/api/auth/sign-out', { body: {} });
}

export interface Acceptance {
  readonly token: string;
  readonly name: string;
  readonly password: string;
  readonly email?: string;
}

export async function acceptInvitation(acceptance: Acceptance): Promise<void> {
  await request('POST', '/api/dashboard/invitations/accept', { body: acceptance });
}

/** A place where one is signed in, as better-auth lists it. */
export interface SessionRecord {
  readonly id: string;
  readonly token: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly ipAddress?: string | null;
  readonly userAgent?: string | null;
}

export const sessionsQuery = queryOptions({
  queryKey: ['sessions'],
  queryFn: ({ signal }) => request<SessionRecord[]>('GET', '/api/auth/list-sessions', { signal }),
});

export const currentSessionQuery = queryOptions({
  queryKey: ['sessions', 'current'],
  queryFn: ({ signal }) =>
    request<{ session: SessionRecord } | null>('GET', '/api/auth/get-session', { signal }),
});

export async function endSession(token: string): Promise<void> {
  await request('POST', '/api/auth/revoke-session', { body: { token } });
}

export async function endOtherSessions(): Promise<void> {
  await request('POST', '/api/auth/revoke-other-sessions', { body: {} });
}

const BROWSERS = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const;

const SYSTEMS = [
  ['Android', 'Android'],
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Windows', 'Windows'],
  ['Mac OS', 'macOS'],
  ['Linux', 'Linux'],
] as const;

/** A user agent in two words, as `Firefox on Linux`; for people, not for decisions. */
export function browserName(userAgent: string | null | undefined): string {
  const agent = userAgent ?? '';
  const nameIn = (names: readonly (readonly [string, string])[]): string | undefined =>
    names.find(([mark]) => agent.includes(mark))?.[1];
  const browser = nameIn(BROWSERS);
  const system = nameIn(SYSTEMS);
  if (browser !== undefined && system !== undefined) return `${browser} on ${system}`;
  return browser ?? system ?? 'Unknown browser';
}
