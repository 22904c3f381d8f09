import type { Attempt, Delivery } from '@tocsin/contracts/channel-delivery';
import type { AttemptRow, DeliveryRow } from './table.ts';

/** What a test event names as its monitor, by id and by name (design §3 "Webhooks"). */
export const TEST_MONITOR = 'test';

/** The wire record of a delivery, as a line of the log. */
export function toDelivery(row: Omit<DeliveryRow, 'payload'>): Delivery {
  return {
    id: row.id,
    event: row.event,
    monitorId: row.test ? TEST_MONITOR : row.monitorId,
    state: row.state,
    timestamp: row.timestamp.toISOString(),
    createdAt: row.createdAt.toISOString(),
    deliveredAt: row.deliveredAt?.toISOString() ?? null,
    nextAttemptAt: row.nextAttemptAt?.toISOString() ?? null,
    attemptCount: row.attemptCount,
    test: row.test,
  };
}

/** The wire record of an attempt. */
export function toAttempt(row: AttemptRow): Attempt {
  return {
    startedAt: row.startedAt.toISOString(),
    durationMs: row.durationMs,
    statusCode: row.statusCode,
    error: row.error,
    responseExcerpt: row.responseExcerpt,
  };
}
