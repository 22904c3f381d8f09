import { AppError } from '@tocsin/contracts/errors';
import { LIMITS } from '@tocsin/contracts/limits';
import type { SecretBox } from '@tocsin/core/secrets/secret-box';
import { and, eq, sql } from 'drizzle-orm';
import { ADVISORY_LOCKS } from '../database/leader-lease.ts';
import type { Transaction } from '../database/open.ts';
import { idempotencyKeys } from './table.ts';

/** A request that may be sent again. */
export interface RepeatableRequest {
  readonly accountId: string;
  readonly key: string;
  /** What it asks for, as it was understood. It may hold secrets: they are kept as a fingerprint. */
  readonly asked: unknown;
  readonly secrets: Pick<SecretBox, 'fingerprint' | 'isFingerprint'>;
}

const KEPT = sql`make_interval(hours => ${LIMITS.idempotencyKeyHours})`;

/**
 * Does the work of a request once in 24 hours, and gives what it gave then to whoever asks again. The note of it commits with the
 * work: a process that is killed leaves both or none.
 * @param work gives plain data without secrets
 * @throws AppError request_in_flight, idempotency_key_reused (for something else)
 */
export async function answerOnce<Answer extends Readonly<Record<string, unknown>>>(
  tx: Transaction,
  { accountId, key, asked, secrets }: RepeatableRequest,
  work: () => Promise<Answer>,
): Promise<{ answer: Answer; replayed: boolean }> {
  await lockKey(tx, accountId, key);
  const request = JSON.stringify(asked);
  const [kept] = await tx
    .select()
    .from(idempotencyKeys)
    .where(
      and(
        eq(idempotencyKeys.accountId, accountId),
        eq(idempotencyKeys.key, key),
        sql`${idempotencyKeys.createdAt} > now() - ${KEPT}`,
      ),
    );
  if (kept === undefined) {
    const answer = await work();
    const requestHash = secrets.fingerprint(request);
    const values = { accountId, key, requestHash, answer };
    await tx
      .insert(idempotencyKeys)
      .values(values)
      .onConflictDoUpdate({
        target: [idempotencyKeys.accountId, idempotencyKeys.key],
        set: { requestHash, answer, createdAt: sql`excluded.created_at` },
      });
    return { answer, replayed: false };
  }
  if (secrets.isFingerprint(kept.requestHash, request))
    return { answer: kept.answer as Answer, replayed: true };
  throw new AppError(
    'idempotency_key_reused',
    'This Idempotency-Key was sent with another body: send a new one.',
  );
}

async function lockKey(tx: Transaction, accountId: string, key: string): Promise<void> {
  const { rows } = await tx.execute<{ locked: boolean }>(sql`
    select pg_try_advisory_xact_lock(${ADVISORY_LOCKS.idempotencyKeys}, hashtext(${`${accountId} ${key}`})) as locked`);
  if (rows[0]?.locked === true) return;
  throw new AppError(
    'request_in_flight',
    'A request with this Idempotency-Key is being answered. Try again soon.',
    {
      headers: { 'Retry-After': '1' },
    },
  );
}
