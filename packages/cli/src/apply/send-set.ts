import type { MonitorSetResult } from '@tocsin/contracts/monitor-set';
import { ApiError } from '../http/api-error.ts';
import type { ApiClient } from '../http/api-client.ts';
import { faultyFiles } from '../files/file-fault.ts';
import type { FileSet } from '../files/load-sets.ts';
import { CliError } from '../terminal/cli-error.ts';

/**
 * Has the API compare a set, or apply it.
 * @param etag of the comparison that is to be carried out, and nothing else; null: whatever there is to do
 * @throws CliError with the places in the files of what the API finds wrong
 */
export async function sendSet(
  api: ApiClient,
  { source, monitors }: FileSet,
  options: { prune: boolean; dryRun: boolean },
  etag: string | null,
): Promise<{ result: MonitorSetResult; etag: string | null }> {
  const request = { source, monitors: monitors.map(({ fields }) => fields), ...options };
  try {
    return await api.putSet(request, etag);
  } catch (error) {
    if (error instanceof ApiError && error.status === 412) {
      const advice = 'Nothing of it was done: run apply again to see what is to be done now.';
      throw new CliError(`Monitors of source ${source} have changed since they were compared. ${advice}`);
    }
    throw error instanceof ApiError ? atPlaces(error, monitors) : error;
  }
}

function atPlaces(error: ApiError, monitors: FileSet['monitors']): Error {
  const faults = error.errors.flatMap(({ path, message }) => {
    const [, index = '', field = ''] = /^monitors\.(\d+)\.?(.*)$/.exec(path) ?? [];
    const monitor = index === '' ? undefined : monitors[Number(index)];
    if (monitor === undefined) return [];
    const said = message.replace(/ \(externalId ".*"\)$/s, '');
    return [{ place: monitor.place(field), message: field === '' ? said : `${field} ${said}` }];
  });
  if (faults.length === 0 || faults.length < error.errors.length) return error;
  const told = faultyFiles(faults);
  if (error.status === 409) return new CliError(error.message, told.lines, error);
  return told;
}
