import type { Attempt } from '@tocsin/contracts/channel-delivery';
import { and, asc, eq, isNull, sql } from 'drizzle-orm';
import { channels } from '../channels/table.ts';
import type { Database } from '../database/open.ts';
import { attempts, deliveries } from './table.ts';
import { toAttempt } from './to-delivery.ts';

/** What became of a test event. */
export interface TestOutcome {
  readonly attempt: Attempt;
  readonly delivered: boolean;
}

/** What became of a test event: null while its attempt is not recorded, undefined where it is gone with its channel. */
export async function findTestOutcome(db: Database, id: string): Promise<TestOutcome | null | undefined> {
  const [row] = await db
    .select({ state: deliveries.state, attempt: attempts })
    .from(deliveries)
    .innerJoin(channels, and(eq(channels.id, deliveries.channelId), isNull(channels.deletedAt)))
    .leftJoin(attempts, eq(attempts.deliveryId, deliveries.id))
    .where(eq(deliveries.id, id))
    .orderBy(asc(attempts.number))
    .limit(1);
  if (row === undefined) return undefined;
  if (row.attempt === null) return null;
  return { attempt: toAttempt(row.attempt), delivered: row.state === 'delivered' };
}

/** Nobody waits for this test event any more: it is not sent later, out of the blue. */
export async function giveUpTestDelivery(db: Database, id: string): Promise<void> {
  await db
    .update(deliveries)
    .set({ state: 'failed', nextAttemptAt: null })
    .where(and(eq(deliveries.id, id), eq(deliveries.state, 'pending'), sql`${deliveries.test}`));
}
