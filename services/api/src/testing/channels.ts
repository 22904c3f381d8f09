import type { Channel } from '@tocsin/contracts/channels/channel';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { deliveries } from '@tocsin/db/deliveries/table';
import { dispatchStatusChanges } from '@tocsin/db/status-changes/dispatch-status-changes';
import { checkOf } from '@tocsin/db/testing/check-record';
import type TestAgent from 'supertest/lib/agent.js';
import type { TestApi } from './test-api.ts';

export const CHANNELS = '/api/dashboard/channels';
/** A name that never resolves (RFC 6761), which a channel may have. */
export const RECEIVER = 'https://hooks.invalid/tocsin';

/** Creates a channel through the dashboard API. */
export async function newChannel(
  user: TestAgent,
  fields: Record<string, unknown> = {},
): Promise<{ channel: Channel; secret: string }> {
  const response = await user
    .post(CHANNELS)
    .send({ name: 'Ops', url: RECEIVER, monitorIds: [], allMonitors: true, ...fields });
  if (response.status !== 201) throw new Error(`not created: ${JSON.stringify(response.body)}`);
  return response.body as { channel: Channel; secret: string };
}

/** Records a failure that changes the monitor to DOWN, and creates the deliveries. @returns their ids */
export async function goDown({ context }: TestApi, monitorId: string): Promise<string[]> {
  const failure = { status: 'DOWN', statusCode: 500, errorReason: 'HTTP_500' } as const;
  await recordChecks(context.db, [checkOf(monitorId, failure)]);
  await dispatchStatusChanges(context.db, { limit: 100 });
  const rows = await context.db.select().from(deliveries);
  return rows.filter((row) => row.monitorId === monitorId).map(({ id }) => id);
}
