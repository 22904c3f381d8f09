import { queryOptions, useSuspenseQuery } from '@tanstack/react-query';
import { api } from '../api/request.ts';

/** The signed-in user and account. Rejects with a 401 without a session. */
export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: ({ signal }) => api('GET /api/dashboard/me', { signal }),
  staleTime: 60_000,
  refetchInterval: false,
  // The router handles a 401.
  meta: { session: true },
});

/** Returns the signed-in user and account, for pages that need a session. */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the type is that of the query
export function useMe() {
  return useSuspenseQuery(meQuery).data;
}

/** Region of monitors without regions. */
export function useDefaultRegion(): string {
  return useMe().account.defaultRegion;
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
