import { queryOptions } from '@tanstack/react-query';
import type { ApiKey } from '@tocsin/contracts/api-keys/api-key';
import { request } from '../api/request.ts';

const PATH = '/api/dashboard/api-keys';

export const apiKeysQuery = queryOptions({
  queryKey: ['api-keys'],
  queryFn: async ({ signal }) => (await request<{ apiKeys: ApiKey[] }>('GET', PATH, { signal })).apiKeys,
});

export interface NewApiKey {
  readonly name: string;
  /** ISO 8601; not given: never expires. */
  readonly expiresAt?: string;
}

/** @returns the key itself too, for the only time */
export async function createApiKey(input: NewApiKey): Promise<{ apiKey: ApiKey; key: string }> {
  return request('POST', PATH, { body: input });
}

export async function deleteApiKey(id: string): Promise<void> {
  await request('DELETE', `${PATH}/${id}`);
}
