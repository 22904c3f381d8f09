import type { ApiKey } from '@tocsin/contracts/api-keys/api-key';
import { AppError } from '@tocsin/contracts/errors';
import { generateApiKey, hashApiKey } from '@tocsin/core/secrets/tokens';
import { and, desc, eq, gt, isNull, or, sql } from 'drizzle-orm';
import type { SQL } from 'drizzle-orm';
import { v7 as uuidv7 } from 'uuid';
import type { Database, Queryable, Transaction } from '../database/open.ts';
import { columnOf } from '../database/sql.ts';
import { users } from '../users/table.ts';
import { apiKeys, apiKeyTombstones } from './table.ts';

const apiKeyColumns = {
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
function toApiKey(row: ApiKeyRow, creatorRemoved: boolean): ApiKey {
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

/** Whom a request acts for, and what it may do. */
export interface ApiKeyIdentity {
  readonly id: string;
  readonly accountId: string;
  /** The comma-separated string, as `read,write`. */
  readonly scopes: string;
}

/**
 * The key with this hash, or null where there is none or it has expired (specification "Authentication" 4). Asked
 * of Postgres at every request: no cache may keep a deleted key alive.
 */
export async function findApiKey(db: Queryable, hash: string): Promise<ApiKeyIdentity | null> {
  const [key] = await db
    .select({ id: apiKeys.id, accountId: apiKeys.accountId, scopes: apiKeys.scopes })
    .from(apiKeys)
    .where(and(eq(apiKeys.hash, hash), or(isNull(apiKeys.expiresAt), gt(apiKeys.expiresAt, sql`now()`))));
  return key ?? null;
}

/** The account's keys, expired ones too, newest first. */
export async function listApiKeys(db: Queryable, accountId: string): Promise<ApiKey[]> {
  const rows = await db
    .select({ ...apiKeyColumns, creator: users.id })
    .from(apiKeys)
    .leftJoin(users, eq(users.id, apiKeys.createdBy))
    .where(eq(apiKeys.accountId, accountId))
    .orderBy(desc(apiKeys.createdAt), desc(apiKeys.id));
  return rows.map((row) => toApiKey(row, row.creator === null));
}

/** The scopes string of the specification: every key made in the dashboard has both. */
export type ApiKeyScopes = 'read,write' | 'read';

export interface NewApiKey {
  readonly accountId: string;
  readonly name: string;
  readonly scopes?: ApiKeyScopes;
  /** Null or absent: never expires. */
  readonly expiresAt?: Date | null;
  /** The id of the user who creates it; null or absent: none. */
  readonly createdBy?: string | null;
}

/**
 * Creates a key; `key` is the raw key, which cannot be had again.
 * @throws AppError not_signed_in where the user has just been removed
 */
export async function createApiKey(
  db: Queryable,
  input: NewApiKey,
): Promise<{ apiKey: ApiKey; key: string }> {
  const key = generateApiKey();
  const row = await db.transaction(async (tx) => {
    const creator = await lockCreator(tx, input);
    const [created] = await tx
      .insert(apiKeys)
      .values({
        id: uuidv7(),
        accountId: input.accountId,
        name: input.name,
        hash: hashApiKey(key),
        scopes: input.scopes ?? 'read,write',
        expiresAt: input.expiresAt ?? null,
        ...creator,
      })
      .returning(apiKeyColumns);
    return created;
  });
  if (!row) throw new Error('no row came back');
  return { apiKey: toApiKey(row, false), key };
}

/** Until the transaction ends nobody removes the user: that removal takes this key along. */
async function lockCreator(
  tx: Transaction,
  { accountId, createdBy }: NewApiKey,
): Promise<{ createdBy?: string; createdByName?: string; createdByEmail?: string }> {
  if (createdBy === undefined || createdBy === null) return {};
  const [user] = await tx
    .select({ createdBy: users.id, createdByName: users.name, createdByEmail: users.email })
    .from(users)
    .where(and(eq(users.id, createdBy), eq(users.accountId, accountId)))
    .for('key share');
  if (!user) throw new AppError('not_signed_in', 'Sign in: the user was removed.');
  return user;
}

/**
 * Makes sure that a given raw key exists (design §2 `BOOTSTRAP_API_KEY`).
 * @returns `refused` where the key was deleted: deletion is irreversible
 */
export async function ensureApiKey(
  db: Database,
  input: { accountId: string; name: string; key: string; scopes: ApiKeyScopes },
): Promise<'created' | 'exists' | 'refused'> {
  const hash = hashApiKey(input.key);
  return db.transaction(async (tx) => {
    // Against a deletion of this very key at the same moment.
    await tx.execute(sql`lock table ${apiKeyTombstones} in share row exclusive mode`);
    const [tombstone] = await tx.select().from(apiKeyTombstones).where(eq(apiKeyTombstones.hash, hash));
    if (tombstone) return 'refused';
    const created = await tx
      .insert(apiKeys)
      .values({ id: uuidv7(), accountId: input.accountId, name: input.name, hash, scopes: input.scopes })
      .onConflictDoNothing({ target: apiKeys.hash })
      .returning({ id: apiKeys.id });
    return created.length > 0 ? 'created' : 'exists';
  });
}

/** Writes `lastUsedAt` of many keys in one statement; never moves it back (specification "Authentication" 8). */
export async function touchApiKeys(db: Queryable, lastUsed: ReadonlyMap<string, Date>): Promise<void> {
  if (lastUsed.size === 0) return;
  const uses = [...lastUsed];
  await db.execute(sql`
    update ${apiKeys} k set last_used_at = greatest(k.last_used_at, u.used_at)
    from unnest(${columnOf(uses, 'uuid', ([id]) => id)}, ${columnOf(uses, 'timestamptz', ([, time]) => time.toISOString())}) as u (id, used_at)
    where k.id = u.id`);
}

/** An error that says the same for an unknown key and for another account's. */
export function apiKeyNotFound(): AppError {
  return new AppError('not_found', 'There is no API key with this id.');
}

/**
 * Deletes a key at once and for good; its hash stays as a tombstone (design §2).
 * @throws AppError not_found
 */
export async function deleteApiKey(db: Database, accountId: string, id: string): Promise<void> {
  await db.transaction(async (tx) => {
    const deleted = await deleteKeys(tx, and(eq(apiKeys.id, id), eq(apiKeys.accountId, accountId)));
    if (deleted === 0) throw apiKeyNotFound();
  });
}

/** The same for all keys that a user created. Belongs into the transaction that removes the user, behind that. */
export async function deleteApiKeysOf(tx: Transaction, userId: string): Promise<void> {
  await deleteKeys(tx, eq(apiKeys.createdBy, userId));
}

/** @returns how many */
async function deleteKeys(tx: Transaction, areMeant: SQL | undefined): Promise<number> {
  // Taken first, since making sure of a key takes the two in this order.
  await tx.execute(sql`lock table ${apiKeyTombstones} in row exclusive mode`);
  const deleted = await tx.delete(apiKeys).where(areMeant).returning({ hash: apiKeys.hash });
  if (deleted.length > 0) await tx.insert(apiKeyTombstones).values(deleted).onConflictDoNothing();
  return deleted.length;
}
