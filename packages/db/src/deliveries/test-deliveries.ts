import type { Attempt } from '@tocsin/contracts/deliveries/delivery';
import type { WebhookPayload } from '@tocsin/contracts/deliveries/webhook';
import { and, asc, eq, isNull, sql } from 'drizzle-orm';
import { v7 as uuidv7 } from 'uuid';
import { findChannelRow } from '../channels/read-channels.ts';
import { channels } from '../channels/table.ts';
import type { Database } from '../database/open.ts';
import { clockNow } from '../database/sql.ts';
import { TEST_MONITOR, toAttempt } from './read-deliveries.ts';
import { attempts, deliveries } from './table.ts';

/**
 * Makes a test event of a channel due now, disabled or not (specification "Delivery rules" 7, design §3 "Webhooks").
 * @param region the region its payload names
 * @returns the delivery's id
 * @throws AppError not_found
 */
export async function createTestDelivery(
  db: Database,
  accountId: string,
  channelId: string,
  region: string,
): Promise<string> {
  const id = uuidv7();
  await db.transaction(async (tx) => {
    await findChannelRow(tx, accountId, channelId);
    const { rows } = await tx.execute<{ stamp: number }>(
      sql`select (extract(epoch from ${clockNow}) * 1000)::float8 as stamp`,
    );
    const timestamp = new Date(rows[0]?.stamp ?? Number.NaN);
    await tx.insert(deliveries).values({
      id,
      accountId,
      channelId,
      // It belongs to no status change and to no monitor: its own id stands for both.
      statusChangeId: id,
      monitorId: id,
      event: 'monitor.up',
      timestamp,
      payload: JSON.stringify(testPayload(region, timestamp)),
      test: true,
      state: 'pending',
    });
  });
  return id;
}

function testPayload(region: string, timestamp: Date): WebhookPayload {
  return {
    event: 'monitor.up',
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
}

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
