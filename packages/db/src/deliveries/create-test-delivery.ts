import type { WebhookPayload } from '@tocsin/contracts/webhook';
import { sql } from 'drizzle-orm';
import { v7 as uuidv7 } from 'uuid';
import { findChannelRow } from '../channels/find-channel-row.ts';
import { clockNow } from '../database/columns.ts';
import type { Database } from '../database/open.ts';
import { deliveries } from './table.ts';
import { TEST_MONITOR } from './to-delivery.ts';

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
