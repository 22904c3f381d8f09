/* oxlint-disable typescript/explicit-module-boundary-types -- the library infers the type of the data */
import { type Account, type Quota, QUOTAS } from '@tocsin/contracts/accounts/account';
import { queryOptions } from '@tanstack/react-query';
import { pagedQuery } from '../api/paged-query.ts';
import { api } from '../api/request.ts';

export const allAccountsQuery = queryOptions({
  queryKey: ['operator', 'accounts'],
  queryFn: async ({ signal }) => (await api('GET /api/operator/accounts', { signal })).accounts,
});

export const accountQuery = (id: string) =>
  queryOptions({
    queryKey: ['operator', 'accounts', id],
    queryFn: async ({ signal }) => (await api('GET /api/operator/accounts/:id', { id, signal })).account,
  });

export const membersQuery = (id: string) =>
  queryOptions({
    queryKey: ['operator', 'accounts', id, 'members'],
    queryFn: async ({ signal }) =>
      (await api('GET /api/operator/accounts/:id/members', { id, signal })).members,
  });

export const operatorsQuery = queryOptions({
  queryKey: ['operator', 'operators'],
  queryFn: async ({ signal }) => (await api('GET /api/operator/operators', { signal })).operators,
});

export const operatorAuditLogQuery = pagedQuery(['operator', 'audit-log'], async ({ signal, ...query }) =>
  (await api('GET /api/operator/audit-log', { query, signal })).entries.toReversed(),
);

export const QUOTA_LABELS: Readonly<Record<Quota, string>> = {
  monitors: 'Monitors',
  channels: 'Channels',
  maintenanceWindows: 'Maintenance windows',
  regions: 'Regions',
  checksPerMinute: 'Checks per minute',
};

/** Returns null without a limit. */
export function limitOf({ quotas }: Account, quota: Quota): number | null {
  return quota === 'checksPerMinute' && quotas[quota] === 0 ? null : quotas[quota];
}

/** Returns usage ÷ quota, which exceeds 1 if the quota was lowered. 0 if there is no limit. */
export function shareOf(account: Account, quota: Quota): number {
  const limit = limitOf(account, quota);
  return limit === null ? 0 : account.usage[quota] / Math.max(limit, 1);
}

export function mostUsedQuota(account: Account): Quota {
  return QUOTAS.reduce((one, other) => (shareOf(account, other) > shareOf(account, one) ? other : one));
}
