import type { MaintenanceWindow } from '@tocsin/contracts/maintenance-window';
import type { DashboardClient } from '../system/dashboard-client.ts';

const HOUR_MS = 3_600_000;

/** One that runs, one that comes back each week, one to come. @returns the one that comes back */
export async function createWindows(
  owner: DashboardClient,
  runningId: string,
  otherIds: readonly string[],
): Promise<MaintenanceWindow> {
  const now = Date.now();
  const create = async (
    name: string,
    fromHours: number,
    monitorIds: readonly string[],
    recurrence: { rrule?: string; timeZone?: string } = {},
  ): Promise<MaintenanceWindow> => {
    const startsAt = now + fromHours * HOUR_MS;
    const body = {
      name,
      startsAt: new Date(startsAt).toISOString(),
      endsAt: new Date(startsAt + 2 * HOUR_MS).toISOString(),
      monitorIds,
      ...recurrence,
    };
    const path = '/maintenance-windows';
    return (await owner.request<{ maintenanceWindow: MaintenanceWindow }>('POST', path, body))
      .maintenanceWindow;
  };
  await create('Move to the new racks', -1, [runningId]);
  await create('Certificate renewal', 26, otherIds.slice(0, 1));
  return create('Weekly database upkeep', 50, otherIds, {
    rrule: 'FREQ=WEEKLY;COUNT=12',
    timeZone: 'Europe/Berlin',
  });
}
