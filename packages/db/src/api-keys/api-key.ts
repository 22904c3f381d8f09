import type { ApiKey } from '@tocsin/contracts/api-key';
import { apiKeys } from './table.ts';

export const apiKeyColumns = {
  id: apiKeys.id,
  name: apiKeys.name,
  scopes: apiKeys.scopes,
  expiresAt: apiKeys.expiresAt,
  lastUsedAt: apiKeys.lastUsedAt,
  createdBy: apiKeys.createdBy,
  createdByName: apiKeys.createdByName,
  createdByEmail: apiKeys.createdByEmail,
  createdAt: apiKeys.createdAt,
};

interface ApiKeyRow {
  readonly id: string;
  readonly name: string;
  readonly scopes: ApiKey['scopes'];
  readonly expiresAt: Date | null;
  readonly lastUsedAt: Date | null;
  readonly createdBy: string | null;
  readonly createdByName: string | null;
  readonly createdByEmail: string | null;
  readonly createdAt: Date;
}

/** @param creatorRemoved whether the user who created the key has been removed since */
export function toApiKey(row: ApiKeyRow, creatorRemoved: boolean): ApiKey {
  const { id, name, scopes, createdBy, createdByName, createdByEmail } = row;
  return {
    id,
    name,
    scopes,
    expiresAt: row.expiresAt?.toISOString() ?? null,
    lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
    createdBy:
      createdBy === null
        ? null
        : { id: createdBy, name: createdByName ?? '', email: createdByEmail, removed: creatorRemoved },
    createdAt: row.createdAt.toISOString(),
  };
}
