import { HIDDEN_SECRET } from '@tocsin/contracts/fields';
import type { ApiKey } from '@tocsin/contracts/api-keys/api-key';
import { AppError } from '@tocsin/contracts/errors';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import { generateApiKey, hashToken } from '@tocsin/core/secrets/tokens';
import { and, desc, eq, gt, isNull, or, type SQL, sql } from 'drizzle-orm';
import type { Actor } from '../audit-log/actor.ts';
import { type AuditRecord, changesOf, recordAudit } from '../audit-log/record-audit.ts';
import { notFound } from '../database/errors.ts';
import type { Database, Queryable, Transaction } from '../database/open.ts';
import { PREPARE } from '../database/preparing-client.ts';
import { buildOnce, firstOf, tableOf, toWire } from '../database/sql.ts';
import { memberships, users } from '../users/table.ts';
import { lockUsers } from '../users/lock-users.ts';
import { apiKeys, apiKeyTombstones } from './table.ts';

type ApiKeyRow = typeof apiKeys.$inferSelect;

function toApiKey(row: ApiKeyRow, creatorRemoved: boolean): ApiKey {
  const { id, name, scopes, sources, expiresAt, lastUsedAt, createdAt } = row;
  const { createdBy: creator, createdByName, createdByEmail: email } = row;
  const createdBy =
    creator === null ? null : { id: creator, name: createdByName ?? '', email, removed: creatorRemoved };
  return { ...toWire({ id, name, scopes, sources, expiresAt, lastUsedAt, createdAt }), createdBy };
}

/** An API key that may make requests. */
export interface ApiKeyIdentity extends Readonly<Pick<ApiKeyRow, 'id' | 'accountId' | 'name' | 'sources'>> {
  /** Role of the user who created the key, or null if no member of the account did. */
  readonly role: UserRole | null;
  /** True if the key has the scope `write`, unless its creator is a viewer by now. */
  readonly canWrite: boolean;
  /** True if the user who created the key is an owner, or the key comes from the settings. */
  readonly isOwner: boolean;
}

/** Condition that a membership is that of a key's creator. */
const isOfCreator = and(
  eq(memberships.accountId, apiKeys.accountId),
  eq(memberships.userId, apiKeys.createdBy),
);

const selectValidKey = buildOnce<ApiKeyIdentity[]>((db) => {
  const isValid = or(isNull(apiKeys.expiresAt), gt(apiKeys.expiresAt, sql`now()`));
  const { id, accountId, name, sources } = apiKeys;
  const { role } = memberships;
  const isKey = and(sql`${PREPARE} ${apiKeys.hash} = ${sql.placeholder('hash')}`, isValid);
  const isOwner = sql<boolean>`${apiKeys.createdBy} is null or coalesce(${role} = 'owner', false)`;
  const canWrite = sql<boolean>`${apiKeys.scopes} ~ '(^|,) *write *(,|$)' and ${role} is distinct from 'viewer'`;
  return db
    .select({ id, accountId, name, sources, role, isOwner, canWrite })
    .from(apiKeys)
    .leftJoin(memberships, isOfCreator)
    .where(isKey);
});

/** Finds a valid key by its hash. Not cached, because a deleted key must fail at once. */
export async function findApiKey(db: Queryable, hash: string): Promise<ApiKeyIdentity | null> {
  const [key] = await selectValidKey(db, { hash });
  return key ?? null;
}

/** Lists the account's keys, including expired ones, newest first. */
export async function listApiKeys(db: Queryable, accountId: string): Promise<ApiKey[]> {
  const rows = await db
    .select({ key: apiKeys, creator: memberships.userId })
    .from(apiKeys)
    .leftJoin(memberships, isOfCreator)
    .where(eq(apiKeys.accountId, accountId))
    .orderBy(desc(apiKeys.createdAt), desc(apiKeys.id));
  return rows.map(({ key, creator }) => toApiKey(key, creator === null));
}

export interface NewApiKey {
  readonly name: string;
  /** Defaults to both, as in the dashboard. */
  readonly scopes?: ApiKeyRow['scopes'];
  /** Null or absent for any source. */
  readonly sources?: ApiKeyRow['sources'];
  /** Null or absent for a key that never expires. */
  readonly expiresAt?: Date | null;
}

/** Creates a key. The raw `key` cannot be read again. @throws AppError not_signed_in if the user was just removed */
export async function createApiKey(
  db: Queryable,
  actor: Actor,
  { name, scopes = 'read,write', sources = null, expiresAt = null }: NewApiKey,
): Promise<{ apiKey: ApiKey; key: string }> {
  const { accountId } = actor;
  const key = generateApiKey();
  const row = await db.transaction(async (tx) => {
    const creator = await lockCreator(tx, actor);
    const values = { accountId, name, hash: hashToken(key), scopes, sources, expiresAt, ...creator };
    const created = firstOf(await tx.insert(apiKeys).values(values).returning());
    await recordAudit(tx, actor, [auditKey('created', created)]);
    return created;
  });
  return { apiKey: toApiKey(row, false), key };
}

/** Keeps the user from being removed until the transaction ends. @throws AppError not_signed_in if the user was just removed */
async function lockCreator(
  tx: Transaction,
  { accountId, type, id, isOperator = false }: Actor,
): Promise<Partial<Pick<ApiKeyRow, 'createdBy' | 'createdByName' | 'createdByEmail'>>> {
  // A deleted account gets no more keys or invitations.
  if (isOperator) await lockUsers(tx, accountId);
  if (type !== 'user' || id === null || isOperator) return {};
  const [user] = await tx
    .select({ createdBy: users.id, createdByName: users.name, createdByEmail: users.email })
    .from(users)
    .innerJoin(memberships, eq(memberships.userId, users.id))
    .where(and(eq(users.id, id), eq(memberships.accountId, accountId)))
    .for('key share');
  if (!user) throw new AppError('not_signed_in', 'The user was removed. Sign in as another user.');
  return user;
}

/** Creates the key of `BOOTSTRAP_API_KEY` unless it exists. @returns `refused` if it was deleted, because a deletion is final */
export async function ensureApiKey(
  db: Database,
  actor: Actor,
  { key, ...fields }: Pick<ApiKeyRow, 'name' | 'scopes'> & { readonly key: string },
): Promise<'created' | 'exists' | 'refused'> {
  const { accountId } = actor;
  const hash = hashToken(key);
  return db.transaction(async (tx) => {
    // Waits for a concurrent deletion of this key.
    await tx.execute(sql`lock table ${apiKeyTombstones} in share row exclusive mode`);
    if ((await tx.$count(apiKeyTombstones, eq(apiKeyTombstones.hash, hash))) > 0) return 'refused';
    const insert = tx.insert(apiKeys).values({ accountId, ...fields, hash });
    const [created] = await insert.onConflictDoNothing({ target: apiKeys.hash }).returning();
    if (created === undefined) return 'exists';
    await recordAudit(tx, actor, [auditKey('created', created)]);
    return 'created';
  });
}

/** Writes `lastUsedAt` of many keys in one statement. Never moves it back. */
export async function writeLastUsed(db: Queryable, lastUsed: ReadonlyMap<string, Date>): Promise<void> {
  if (lastUsed.size === 0) return;
  await db.execute(sql`
    update ${apiKeys} k set last_used_at = greatest(k.last_used_at, u.used_at)
    from ${tableOf('u', [...lastUsed], {
      id: ['uuid', ([id]) => id],
      used_at: ['timestamptz', ([, time]) => time],
    })}
    where k.id = u.id`);
}

/** Deletes a key for good. Its hash stays as a tombstone. @throws AppError not_found */
export async function deleteApiKey(db: Database, actor: Actor, id: string): Promise<void> {
  const { accountId } = actor;
  await db.transaction(async (tx) => {
    const deleted = await deleteKeys(tx, and(eq(apiKeys.id, id), eq(apiKeys.accountId, accountId)));
    if (deleted.length === 0) throw notFound('API key');
    await recordAudit(tx, actor, deleted);
  });
}

/**
 * Deletes the account's keys, or those that a user created. Call it after deleting the membership, in the same transaction.
 * @returns the audit records
 */
export function deleteApiKeysOf(
  tx: Transaction,
  accountId: string,
  userId: string | null = null,
): Promise<AuditRecord[]> {
  const isOfUser = userId === null ? undefined : eq(apiKeys.createdBy, userId);
  return deleteKeys(tx, and(eq(apiKeys.accountId, accountId), isOfUser));
}

async function deleteKeys(tx: Transaction, condition: SQL | undefined): Promise<AuditRecord[]> {
  // Locked first, as in `ensureApiKey`, so that the two do not deadlock.
  await tx.execute(sql`lock table ${apiKeyTombstones} in row exclusive mode`);
  const deleted = await tx.delete(apiKeys).where(condition).returning();
  const tombstones = deleted.map(({ hash }) => ({ hash }));
  if (deleted.length > 0) await tx.insert(apiKeyTombstones).values(tombstones).onConflictDoNothing();
  return deleted.map((row) => auditKey('deleted', row));
}

function auditKey(
  what: 'created' | 'deleted',
  { id, name, scopes, sources, expiresAt }: ApiKeyRow,
): AuditRecord {
  const fields = { name, key: HIDDEN_SECRET, scopes, sources, expiresAt };
  const changes = what === 'created' ? changesOf(null, fields) : changesOf(fields, null);
  return { action: `apiKey.${what}`, target: { type: 'apiKey', id, name }, changes };
}
