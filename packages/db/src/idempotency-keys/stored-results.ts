import { AppError } from '@tocsin/contracts/errors';
import { LIMITS } from '@tocsin/contracts/limits';
import type { SecretBox } from '@tocsin/core/secrets/secret-box';
import { and, eq, sql } from 'drizzle-orm';
import { z } from 'zod';
import { ADVISORY_LOCKS } from '../database/leader-lease.ts';
import type { Transaction } from '../database/open.ts';
import { arrayOf, queryOne } from '../database/sql.ts';
import { idempotencyKeys } from './table.ts';

/** A request to create a resource. */
export interface RepeatableRequest {
  readonly accountId: string;
  /** Undefined if the client will not repeat the request. Nothing is stored then. */
  readonly key: string | undefined;
  /** The parsed request. It may contain secrets, so only its fingerprint is stored. */
  readonly request: unknown;
  readonly secrets: Pick<SecretBox, 'fingerprint' | 'isFingerprint'>;
}

const RETENTION = sql`make_interval(hours => ${LIMITS.idempotencyKeyHours})`;

/**
 * Returns the result of the same request in the last 24 hours, or null. Until the transaction ends, no other request with this key runs.
 * @throws AppError request_in_flight, idempotency_key_reused if another request had the key
 */
export async function findResult<Result extends object>(
  tx: Transaction,
  { accountId, key, request, secrets }: RepeatableRequest,
): Promise<Result | null> {
  if (key === undefined) return null;
  const { locked } = await queryOne(tx, z.object({ locked: z.boolean() }))`
    select pg_try_advisory_xact_lock(${ADVISORY_LOCKS.idempotencyKeys}, hashtext(${`${accountId} ${key}`})) as locked`;
  if (!locked) {
    const message = 'A request with this Idempotency-Key is being processed. Try again soon.';
    throw new AppError('request_in_flight', message, { headers: { 'Retry-After': '1' } });
  }
  const isRecent = sql`${idempotencyKeys.createdAt} > now() - ${RETENTION}`;
  const isKey = and(eq(idempotencyKeys.accountId, accountId), eq(idempotencyKeys.key, key));
  const [stored] = await tx.select().from(idempotencyKeys).where(and(isKey, isRecent));
  if (stored === undefined) return null;
  if (secrets.isFingerprint(stored.requestHash, JSON.stringify(request))) return stored.result as Result;
  const message = 'This Idempotency-Key was used with a different body. Use a new key.';
  throw new AppError('idempotency_key_reused', message);
}

/** Stores the result of a request in the transaction that created a resource. The result is plain data without secrets. */
export async function storeResult(
  tx: Transaction,
  { accountId, key, request, secrets }: RepeatableRequest,
  resourceId: string,
  result: object,
): Promise<void> {
  if (key === undefined) return;
  const stored = { requestHash: secrets.fingerprint(JSON.stringify(request)), resourceId, result };
  await tx
    .insert(idempotencyKeys)
    .values({ accountId, key, ...stored })
    .onConflictDoUpdate({
      target: [idempotencyKeys.accountId, idempotencyKeys.key],
      set: { ...stored, createdAt: sql`excluded.created_at` },
    });
}

/** Forgets the requests that created these resources, because they are being deleted. */
export async function forgetResults(tx: Transaction, resourceIds: readonly string[]): Promise<void> {
  await tx.execute(
    sql`delete from idempotency_keys where resource_id = any(${arrayOf('uuid', resourceIds)})`,
  );
}
