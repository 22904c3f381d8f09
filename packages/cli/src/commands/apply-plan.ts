import type { MonitorSetResult } from '@tocsin/contracts/monitor-sets/monitor-set';
import type { FileSet } from '../files/load-sets.ts';
import { InvalidFilesError } from '../files/yaml-file.ts';
import type { ApiClient } from '../http/api-client.ts';
import { ApiError } from '../http/api-error.ts';
import { CliError } from '../terminal/cli-error.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { plain } from '../terminal/text.ts';

/** Set to apply. */
export interface Target extends FileSet {
  readonly prune: boolean;
  /** True if no file contains the source, so that all of its monitors are deleted. */
  readonly isUnlisted: boolean;
}

export interface Plan extends Target {
  /** Result of a dry run. Replaced when the plan is applied. */
  result: MonitorSetResult;
  readonly etag: string | null;
}

type Api = Pick<ApiClient, 'putSet'>;

interface AppliedPlan {
  readonly result: MonitorSetResult;
  /** Result of the dry run whose plan was applied. */
  readonly planned: MonitorSetResult;
  readonly responseWasLost: boolean;
}

/**
 * Applies a plan. If it is outdated, another pipeline has changed the source, or an earlier request whose response was lost has applied it.
 * @param mayReplan true if a plan that has changed is replaced once. A user must confirm the new plan first.
 * @throws OutdatedPlanError if the new plan may not be applied
 */
export async function applyPlan(
  api: Api,
  { note }: Terminal,
  { result: planned, etag, ...set }: Plan,
  mayReplan: boolean,
): Promise<AppliedPlan> {
  try {
    const { result } = await sendSet(api, set, false, etag);
    return { result, planned, responseWasLost: false };
  } catch (error) {
    if (!(error instanceof OutdatedPlanError)) throw error;
    const { responseWasLost } = error;
    if (!responseWasLost && !mayReplan) throw error;
    const now = await sendSet(api, set, true, null).catch((failure: unknown) => {
      throw responseWasLost ? error : failure;
    });
    if (!now.result.changed)
      return {
        result: { ...now.result, dryRun: false },
        planned: responseWasLost ? planned : now.result,
        responseWasLost,
      };
    const allowed = new Set(deletedIds(planned));
    if (!mayReplan || deletedIds(now.result).some((id) => !allowed.has(id))) throw error;
    note(plain(`The plan for source ${set.source} has changed since it was shown. Applying the new plan.`));
    const { result } = await sendSet(api, set, false, now.etag);
    return { result, planned: now.result, responseWasLost: false };
  }
}

export function deletedIds({ deleted, channels }: MonitorSetResult): string[] {
  return [...deleted, ...(channels?.deleted ?? [])].map(({ id }) => id);
}

/** If a response was lost, the source may have changed because the plan was applied. */
class OutdatedPlanError extends CliError {
  readonly responseWasLost: boolean;

  constructor(source: string, cause: ApiError) {
    const { followsLostResponse: wasLost } = cause;
    super(
      wasLost
        ? `A response for source ${source} was lost, and its monitors or channels have changed since. It is not known whether the set was applied. Run diff or apply again.`
        : `The plan for source ${source} has changed since it was shown. Review it and apply again.`,
      { cause, code: wasLost ? 'failed' : 'conflict', retryable: true },
    );
    this.responseWasLost = wasLost;
  }
}

/**
 * Sends a set to the API.
 * @param etag plan that may be applied, or null for any plan
 * @throws OutdatedPlanError, CliError with file positions of all fields that the API rejects, or ApiError
 */
export async function sendSet(
  api: Api,
  set: Target,
  dryRun: boolean,
  etag: string | null,
): Promise<Pick<Plan, 'result' | 'etag'>> {
  const { source, monitors, channels, prune } = set;
  const request = {
    source,
    monitors: monitors.map(({ fields }) => fields),
    ...(channels && { channels: channels.map(({ fields }) => fields) }),
    prune,
    dryRun,
  };
  try {
    return await api.putSet(request, etag);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw error.status === 412 ? new OutdatedPlanError(source, error) : atPositions(error, set);
  }
}

/** Adds file positions to an error if all of its field errors concern monitors and channels. */
function atPositions(error: ApiError, { monitors, channels }: FileSet): Error {
  const fileErrors = error.errors.flatMap(({ path, message }) => {
    const [, kind, index = '', field = ''] = /^(monitors|channels)\.(\d+)\.?(.*)$/s.exec(path) ?? [];
    const entry = (kind === 'channels' ? channels : monitors)?.[Number(index || NaN)];
    if (entry === undefined) return [];
    const text = message.replace(/ \(externalId ".*"\)$/s, '');
    return [{ position: entry.position(field), message: field === '' ? text : `${field} ${text}` }];
  });
  if (fileErrors.length === 0 || fileErrors.length < error.errors.length) return error;
  const invalid = new InvalidFilesError(fileErrors);
  return error.status === 409
    ? new CliError(error.message, { lines: invalid.lines, cause: error, code: error.code })
    : invalid;
}
