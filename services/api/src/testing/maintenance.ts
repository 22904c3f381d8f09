import { advanceWindows } from '@tocsin/db/maintenance-windows/advance-windows';
import { settleMaintenance } from '@tocsin/db/maintenance-windows/settle-maintenance';
import type TestAgent from 'supertest/lib/agent.js';
import type { TestApi } from './test-api.ts';

/** Puts a monitor into maintenance, as a notifier does. */
export async function beginMaintenance(
  { context, database }: TestApi,
  user: TestAgent,
  monitorId: string,
): Promise<void> {
  const at = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toISOString();
  const response = await user
    .post('/api/dashboard/maintenance-windows')
    .send({ name: 'Upgrade', startsAt: at(1), endsAt: at(2), monitorIds: [monitorId] });
  if (response.status !== 201) throw new Error(`not created: ${response.text}`);
  await database.pool.query(`update maintenance_windows set
    starts_at = starts_at - interval '61 minutes', occurrence_starts_at = occurrence_starts_at - interval '61 minutes'`);
  await advanceWindows(context.db);
  await settleMaintenance(context.db);
}
