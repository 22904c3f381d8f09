import { queryOptions, useSuspenseQuery } from '@tanstack/react-query';
import { api } from '../api/request.ts';

/** The signed-in user and their account. Rejects with a 401 if there is no session. */
export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: ({ signal }) => api('GET /api/dashboard/me', { signal }),
  staleTime: 60_000,
  refetchInterval: false,
  // The router handles a 401.
  meta: { session: true },
});

/** The region of monitors without regions. For pages that need a session. */
export function useDefaultRegion(): string {
  return useSuspenseQuery(meQuery).data.account.defaultRegion;
}

export const signInMethodsQuery = queryOptions({
  queryKey: ['sign-in-methods'],
  queryFn: ({ signal }) => api('GET /api/dashboard/sign-in-methods', { signal }),
  staleTime: Infinity,
});

export const sessionsQuery = queryOptions({
  queryKey: ['sessions'],
  queryFn: ({ signal }) => api('GET /api/auth/list-sessions', { signal }),
});

export const currentSessionQuery = queryOptions({
  queryKey: ['sessions', 'current'],
  queryFn: ({ signal }) => api('GET /api/auth/get-session', { signal }),
});

export async function signOut(): Promise<void> {
  await api('POST /api/auth/sign-out');
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

/** Describes a user agent, as `Firefox on Linux`. For display only. */
export function browserName(userAgent: string | null | undefined): string {
  const agent = userAgent ?? '';
  const nameIn = (names: readonly (readonly [string, string])[]): string | undefined =>
    names.find(([mark]) => agent.includes(mark))?.[1];
  const browser = nameIn(BROWSERS);
  const system = nameIn(SYSTEMS);
  if (browser !== undefined && system !== undefined) return `${browser} on ${system}`;
  return browser ?? system ?? 'Unknown browser';
}
