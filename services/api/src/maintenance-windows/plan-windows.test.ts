import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { createMaintenanceWindow } from '@tocsin/db/maintenance-windows/write-windows';
import { until } from '@tocsin/embedded/testing/until';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { newMonitor } from '../testing/monitors.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';
import { startPlanningWindows } from './plan-windows.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

test('a window with an invalid rule is ended and logged', async () => {
  const { id: monitorId } = await newMonitor(api);
  const startsAt = new Date(Date.now() + 3_600_000);
  const { id } = await createMaintenanceWindow(api.context.db, systemActor(api.account.id), {
    name: 'Upgrade',
    startsAt,
    endsAt: new Date(startsAt.getTime() + 3_600_000),
    monitorIds: [monitorId],
    rrule: 'FREQ=DAILY',
    timeZone: 'UTC',
  });
  await api.database.pool.query(
    `update maintenance_windows set rrule = 'nonsense', occurrence_starts_at = now() - interval '2 hours',
      occurrence_ends_at = now() - interval '1 hour' where id = $1`,
    [id],
  );
  const logger = createSilentLogger();
  const error = jest.spyOn(logger, 'error');
  const loop = startPlanningWindows({ db: api.context.db, isLeader: () => true, logger });
  try {
    await until('the window is ended', async () => {
      const { rows } = await api.database.pool.query('select state from maintenance_windows where id = $1', [
        id,
      ]);
      return (rows[0] as { state: string }).state === 'ended';
    });
  } finally {
    await loop.stop();
  }
  expect(error.mock.calls).toEqual([
    ['Ended a maintenance window whose rule is no longer valid', { maintenanceWindowId: id }],
  ]);
});
