import { index, pgTable } from 'drizzle-orm/pg-core';
import { clockNow, instant, primaryId } from '../database/sql.ts';
import { accounts } from '../users/table.ts';

/** Regions served by agents. Codes are unique in the installation. */
export const agentRegions = pgTable(
  'agent_regions',
  (t) => ({
    code: t.text('code').primaryKey(),
    /** Owning account. Null for a shared region, which monitors of any account may name. */
    accountId: t.uuid('account_id').references(() => accounts.id, { onDelete: 'cascade' }),
    name: t.text('name'),
    createdAt: instant('created_at').notNull().default(clockNow),
    lastConnectedAt: instant('last_connected_at'),
  }),
  (table) => [index('agent_regions_account_idx').on(table.accountId)],
);

export const agentTokens = pgTable(
  'agent_tokens',
  (t) => ({
    id: primaryId(),
    region: t
      .text('region')
      .notNull()
      .references(() => agentRegions.code, { onDelete: 'cascade' }),
    name: t.text('name').notNull(),
    /** SHA-256 of the raw token, hexadecimal. */
    hash: t.text('hash').notNull().unique(),
    createdAt: instant('created_at').notNull().default(clockNow),
    expiresAt: instant('expires_at'),
    lastUsedAt: instant('last_used_at'),
  }),
  (table) => [index('agent_tokens_region_idx').on(table.region)],
);

/**
 * Agent connections, which gateways renew every second. There is no foreign key, so that a renewal never waits for the deletion of a token.
 * The next renewal deletes the connections of a deleted token.
 */
export const agentConnections = pgTable('agent_connections', (t) => ({
  id: t.uuid('id').primaryKey(),
  gatewayId: t.text('gateway_id').notNull(),
  tokenId: t.uuid('token_id').notNull(),
  region: t.text('region').notNull(),
  /** Host name of the agent's machine. */
  name: t.text('name').notNull(),
  version: t.text('version').notNull(),
  connectedSince: instant('connected_since').notNull(),
  inFlight: t.integer('in_flight').notNull(),
  renewedAt: instant('renewed_at').notNull().default(clockNow),
}));
