import { queryOptions } from '@tanstack/react-query';
import { request } from '../api/request.ts';

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
