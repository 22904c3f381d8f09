import { apiKeys } from './table.ts';

/** An API key as people of the account see it: never the key itself. */
export interface ApiKey {
  readonly id: string;
  readonly name: string;
  /** The comma-separated string of the specification, as `read,write`. */
  readonly scopes: string;
  /** Null: never expires. */
  readonly expiresAt: string | null;
  readonly lastUsedAt: string | null;
  readonly createdAt: string;
}

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
  readonly scopes: string;
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
