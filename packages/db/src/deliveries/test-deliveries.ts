import type { Attempt } from '@tocsin/contracts/deliveries/delivery';
import type { WebhookPayload } from '@tocsin/contracts/deliveries/webhook';
import { and, asc, eq, isNull } from 'drizzle-orm';
import { v7 as uuidv7 } from 'uuid';
import type { Actor } from '../audit-log/actor.ts';
import { lockChannel } from '../channels/read-channels.ts';
import { channels } from '../channels/table.ts';
import type { Database } from '../database/open.ts';
import { readClock } from '../database/sql.ts';
import { TEST_MONITOR, toAttempt } from './read-deliveries.ts';
import { renderDeliveries } from './render-deliveries.ts';
import { attempts, deliveries } from './table.ts';

/** Makes a test event due now, even for a disabled channel. @param region for its payload @param publicUrl for its links @returns the delivery's id @throws AppError not_found, source_not_allowed */
export async function createTestDelivery(
  db: Database,
  actor: Actor,
  channelId: string,
  region: string,
  publicUrl: string | null = null,
): Promise<string> {
  const { accountId } = actor;
  const id = uuidv7();
  const event = 'monitor.up';
  await db.transaction(async (tx) => {
    // The lock keeps the channel until its delivery can be deleted with it.
    await lockChannel(tx, actor, channelId);
    const timestamp = new Date(await readClock(tx));
    const payload: WebhookPayload = {
      event,
      monitorId: TEST_MONITOR,
      monitorName: TEST_MONITOR,
      status: 'UP',
      previousStatus: 'DOWN',
      latency: 0,
      errorReason: null,
      region,
      timestamp: timestamp.toISOString(),
      runbookUrl: null,
    };
    await tx.insert(deliveries).values({
      id,
      accountId,
      channelId,
      // A test delivery belongs to no status change and no monitor, so its own id stands for both.
      statusChangeId: id,
      monitorId: id,
      event,
      timestamp,
      payload: JSON.stringify(payload),
      test: true,
      state: 'pending',
    });
    await renderDeliveries(tx, [id], publicUrl);
  });
  return id;
}

export interface TestOutcome {
  readonly attempt: Attempt;
  readonly delivered: boolean;
}

/** Returns the outcome of a test event. Null while its attempt is not recorded, undefined if it was deleted with its channel. */
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

/** Abandons a test event that no request waits for any more, so that it is not sent much later. */
export async function abandonTestDelivery(db: Database, id: string): Promise<void> {
  const isPending = and(eq(deliveries.id, id), eq(deliveries.state, 'pending'), eq(deliveries.test, true));
  await db.update(deliveries).set({ state: 'failed', nextAttemptAt: null }).where(isPending);
}
