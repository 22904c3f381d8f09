import type { Monitor, MonitorUpdate } from '@tocsin/contracts/monitors/monitor';
import type { ApiClient } from '../http/api-client.ts';
import { ApiError } from '../http/api-error.ts';
import { CliError } from '../terminal/cli-error.ts';

/** How often a monitor is read again because it keeps changing. */
const MAX_ATTEMPTS = 5;

/**
 * Changes a monitor as it is now. It is read again if it has changed meanwhile, which also shows whether a change whose response was lost
 * was made.
 * @param toUpdate the change of the monitor that was read, or null if there is none
 * @returns the monitor after the change, or null if it was deleted
 */
export async function changeMonitor(
  api: Pick<ApiClient, 'getMonitor' | 'updateMonitor'>,
  { id, name }: Pick<Monitor, 'id' | 'name'>,
  toUpdate: (monitor: Monitor) => MonitorUpdate | null,
): Promise<Monitor | null> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    try {
      const { monitor, etag } = await api.getMonitor(id);
      const update = toUpdate(monitor);
      return update === null ? monitor : await api.updateMonitor(id, update, etag);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status === 404) return null;
      if (error.status !== 412) throw error;
    }
  }
  throw new CliError(`Monitor "${name}" keeps changing. Run the command again.`);
}
