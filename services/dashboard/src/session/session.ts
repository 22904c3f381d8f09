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
