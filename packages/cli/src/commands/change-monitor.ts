import type { Monitor, MonitorUpdate } from '@tocsin/contracts/monitors/monitor';
import type { ApiClient } from '../http/api-client.ts';
import { ApiError } from '../http/api-error.ts';
import { CliError } from '../terminal/cli-error.ts';

const MAX_ATTEMPTS = 5;

/**
 * Changes the current version of a monitor. If the monitor has changed meanwhile, or a response was lost, the function reads it again and
 * retries.
 * @param toUpdate returns the change for the current version, or null for none
 * @returns the changed monitor, or null if it was deleted
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
  throw new CliError(`Monitor "${name}" keeps changing. Run the command again.`, {
    code: 'conflict',
    retryable: true,
  });
}
