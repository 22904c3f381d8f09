import { queryOptions, useMutation, useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { showError } from '../api/mutations.ts';
import { api } from '../api/request.ts';
import { accountSlug, bindAccount } from './account-in-path.ts';

/** Reads the signed-in user and the open account. Rejects with a 401 without a session, and a 404 if the user is not a member. */
export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: async ({ signal }) => {
    const me = await api('GET /api/dashboard/me', { signal });
    bindAccount(me.account.id);
    return me;
  },
  staleTime: 60_000,
  refetchInterval: false,
  // The router handles a 401.
  meta: { session: true },
});

/** Returns the signed-in user and the open account, for pages of an account. */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the type is that of the query
export function useMe() {
  return useSuspenseQuery(meQuery).data;
}

/** Lists the user's accounts by name. Rejects with a 401 without a session. */
export const accountsQuery = queryOptions({
  queryKey: ['accounts'],
  queryFn: ({ signal }) => api('GET /api/dashboard/accounts', { query: {}, signal }),
  staleTime: 60_000,
  refetchInterval: false,
  meta: { session: true },
});

// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the type is that of the query
export function useAccounts() {
  return useSuspenseQuery(accountsQuery).data;
}

/** Returns the signed-in user, also outside of accounts. */
export function useUser():
  { readonly id: string; readonly name: string; readonly email: string } | undefined {
  const ofAccount = useQuery({ ...meQuery, enabled: accountSlug() !== null });
  const ofSession = useQuery({ ...currentSessionQuery, enabled: accountSlug() === null });
  return ofAccount.data?.user ?? ofSession.data?.user;
}

/** Returns what the user's role allows in the open account, so that pages show no control that the API would refuse. */
export function useCan(): { readonly change: boolean; readonly manage: boolean } {
  const { role } = useMe().user;
  return { change: role !== 'viewer', manage: role === 'owner' };
}

/** Region of monitors without regions. */
export function useDefaultRegion(): string {
  return useMe().account.defaultRegion;
}

export function useSignOut(): () => void {
  const { mutate } = useMutation({
    mutationFn: () => api('POST /api/auth/sign-out'),
    // A page load removes the session's data from memory.
    onSuccess: () => window.location.assign('/sign-in'),
    onError: showError,
  });
  return () => mutate();
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

const BROWSERS = {
  'Edg/': 'Edge',
  'OPR/': 'Opera',
  'Firefox/': 'Firefox',
  'Chrome/': 'Chrome',
  'Safari/': 'Safari',
};
const SYSTEMS = {
  Android: 'Android',
  iPhone: 'iPhone',
  iPad: 'iPad',
  Windows: 'Windows',
  'Mac OS': 'macOS',
  Linux: 'Linux',
};

/** Formats a user agent as `Firefox on Linux`. For display only. */
export function browserName(userAgent: string | null | undefined): string {
  const names = [BROWSERS, SYSTEMS].map(
    (marks) => Object.entries(marks).find(([mark]) => userAgent?.includes(mark))?.[1],
  );
  return names.filter((name) => name !== undefined).join(' on ') || 'Unknown browser';
}
