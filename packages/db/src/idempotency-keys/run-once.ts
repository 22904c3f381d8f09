import { AppError } from '@tocsin/contracts/errors';
import { LIMITS } from '@tocsin/contracts/limits';
import type { SecretBox } from '@tocsin/core/secrets/secret-box';
import { and, eq, sql } from 'drizzle-orm';
import { z } from 'zod';
import { ADVISORY_LOCKS } from '../database/leader-lease.ts';
import type { Transaction } from '../database/open.ts';
import { queryOne } from '../database/sql.ts';
import { idempotencyKeys } from './table.ts';

/** A request that may be repeated. */
export interface RepeatableRequest {
  readonly accountId: string;
  readonly key: string;
  /** The parsed request. It may contain secrets: only its fingerprint is stored. */
  readonly request: unknown;
  readonly secrets: Pick<SecretBox, 'fingerprint' | 'isFingerprint'>;
}

const RETENTION = sql`make_interval(hours => ${LIMITS.idempotencyKeyHours})`;

/**
 * Does the work of a request once in 24 hours, and returns the same result to every repetition. The result commits with the work: a
 * process that is killed leaves both or neither.
 * @param work returns plain data without secrets
 * @throws AppError request_in_flight, idempotency_key_reused (another request had the key)
 */
export async function runOnce<Result extends Readonly<Record<string, unknown>>>(
  tx: Transaction,
  { accountId, key, request, secrets }: RepeatableRequest,
  work: () => Promise<Result>,
): Promise<{ result: Result; replayed: boolean }> {
  await lockKey(tx, accountId, key);
  const text = JSON.stringify(request);
  const [kept] = await tx
    .select()
    .from(idempotencyKeys)
    .where(
      and(
        eq(idempotencyKeys.accountId, accountId),
        eq(idempotencyKeys.key, key),
        sql`${idempotencyKeys.createdAt} > now() - ${RETENTION}`,
      ),
    );
  if (kept === undefined) {
    const result = await work();
    const requestHash = secrets.fingerprint(text);
    await tx
      .insert(idempotencyKeys)
      .values({ accountId, key, requestHash, answer: result })
      .onConflictDoUpdate({
        target: [idempotencyKeys.accountId, idempotencyKeys.key],
        set: { requestHash, answer: result, createdAt: sql`excluded.created_at` },
      });
    return { result, replayed: false };
  }
  if (secrets.isFingerprint(kept.requestHash, text)) return { result: kept.answer as Result, replayed: true };
  throw new AppError(
    'idempotency_key_reused',
    'This Idempotency-Key was sent with another body: send a new one.',
  );
}

async function lockKey(tx: Transaction, accountId: string, key: string): Promise<void> {
  const { locked } = await queryOne(
    tx,
    z.object({ locked: z.boolean() }),
  )`select pg_try_advisory_xact_lock(${ADVISORY_LOCKS.idempotencyKeys}, hashtext(${`${accountId} ${key}`})) as locked`;
  if (locked) return;
  throw new AppError(
    'request_in_flight',
    'A request with this Idempotency-Key is being processed. Try again soon.',
    { headers: { 'Retry-After': '1' } },
  );
}
