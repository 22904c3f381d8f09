import type { MonitorSetResult } from '@tocsin/contracts/monitor-sets/monitor-set';
import { faultyFiles } from '../files/file-fault.ts';
import type { FileSet } from '../files/load-sets.ts';
import type { ApiClient } from '../http/api-client.ts';
import { ApiError } from '../http/api-error.ts';
import { CliError } from '../terminal/cli-error.ts';

/** What the API says of a set. */
export interface SentSet {
  readonly result: MonitorSetResult;
  readonly etag: string | null;
  /** Whether it is done, as its comparison said, by a request whose answer was lost. */
  readonly answerWasLost: boolean;
}

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
): Promise<SentSet> {
  const request = { source, monitors: monitors.map(({ fields }) => fields), ...options };
  try {
    return { ...(await api.putSet(request, etag)), answerWasLost: false };
  } catch (error) {
    if (error instanceof ApiError && error.status === 412) {
      if (error.followsLostAnswer) return await lookAgain(api, request);
      throw new CliError(
        `Monitors of source ${source} have changed since they were compared. The set was refused: run apply again to see what is to be done now.`,
      );
    }
    throw error instanceof ApiError ? atPlaces(error, monitors) : error;
  }
}

/**
 * After a refusal of what was sent twice: the first time may have done it, and so made the second one out of date.
 * @throws CliError where that cannot be told
 */
async function lookAgain(api: ApiClient, request: Parameters<ApiClient['putSet']>[0]): Promise<SentSet> {
  let cause: unknown;
  try {
    const { result, etag } = await api.putSet({ ...request, dryRun: true }, null);
    if (!result.changed) return { result: { ...result, dryRun: false }, etag, answerWasLost: true };
  } catch (error) {
    cause = error;
  }
  throw new CliError(
    `An answer about source ${request.source} was lost, and its monitors are not as they were compared: it is not known what was done. Run diff or apply again to see what is left to do.`,
    cause instanceof CliError ? [cause.message] : [],
    cause,
  );
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
