import { queryOptions } from '@tanstack/react-query';
import { api } from '../api/request.ts';

export const usersQuery = queryOptions({
  queryKey: ['users'],
  queryFn: async ({ signal }) => (await api('GET /api/dashboard/users', { signal })).users,
});

export const invitationsQuery = queryOptions({
  queryKey: ['invitations'],
  queryFn: async ({ signal }) => (await api('GET /api/dashboard/invitations', { signal })).invitations,
});

export const apiKeysQuery = queryOptions({
  queryKey: ['api-keys'],
  queryFn: async ({ signal }) => (await api('GET /api/dashboard/api-keys', { signal })).apiKeys,
});
