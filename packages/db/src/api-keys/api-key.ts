import type { ApiKey } from '@tocsin/contracts/api-key';
import { apiKeys } from './table.ts';

export const apiKeyColumns = {
  id: apiKeys.id,
  name: apiKeys.name,
  scopes: apiKeys.scopes,
  expiresAt: apiKeys.expiresAt,
  lastUsedAt: apiKeys.lastUsedAt,
  createdAt: apiKeys.createdAt,
};

interface ApiKeyRow {
  readonly id: string;
  readonly name: string;
  readonly scopes: ApiKey['scopes'];
  readonly expiresAt: Date | null;
  readonly lastUsedAt: Date | null;
  readonly createdAt: Date;
}

export function toApiKey({ id, name, scopes, ...times }: ApiKeyRow): ApiKey {
  return {
    id,
    name,
    scopes,
    expiresAt: times.expiresAt?.toISOString() ?? null,
    lastUsedAt: times.lastUsedAt?.toISOString() ?? null,
    createdAt: times.createdAt.toISOString(),
  };
}
