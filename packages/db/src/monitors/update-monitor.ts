import { AppError } from '@tocsin/contracts/errors';
import { monitorConflicts, type MonitorInput, type MonitorUpdate } from '@tocsin/contracts/monitors/monitor';
import type { DbContext } from '../database/open.ts';
import type { RecordedStatusChange } from '../status-changes/record-status-changes.ts';
import { externalIdTaken, toWritten, type WrittenMonitor } from './create-monitor.ts';
import { effectiveRegions } from './insert-monitors.ts';
import { placeholderErrors, toInput, toShownInput, UnreadableMonitorError } from './monitor-codec.ts';
import { lockMonitorRow, requireVersion } from './monitor-row.ts';
import { changedFields, rewriteMonitors } from './rewrite-monitors.ts';
import type { MonitorRow } from './table.ts';

export interface UpdatedMonitor extends WrittenMonitor {
  /** False where the update left everything as it was: no revision was raised. */
  readonly changed: boolean;
  /** The status change that a new threshold or list of regions brought about at once, if any. */
  readonly statusChange: RecordedStatusChange | null;
}

/**
 * Changes the given fields of a monitor (specification "Update a monitor"). A change of what is probed resets the
 * streaks; a change of regions or threshold is evaluated at once (design §4 "Status").
 * @param versions that the monitor must have one of, see `versionOf`; null: any
 * @throws AppError not_found, precondition_failed, validation_failed (the merged record breaks a rule, or "(unreadable)" was sent back), conflict (externalId; no key
 * opens the header values or the body, and the update does not replace them)
 */
export async function updateMonitor(
  context: DbContext,
  accountId: string,
  id: string,
  update: MonitorUpdate,
  defaultRegion: string,
  versions: ReadonlySet<string> | null = null,
): Promise<UpdatedMonitor> {
  return context.db
    .transaction(async (tx) => {
      const before = await lockMonitorRow(tx, accountId, id, 'no key update');
      requireVersion(before, versions);
      const oldInput = readBefore(context, before, update);
      const input = mergeInput(oldInput, update);
      const changed = changedFields(oldInput, input);
      if (changed.length === 0) {
        const regions = effectiveRegions(input.regions, defaultRegion);
        return { ...toWritten(context, { row: before, regions }), changed: false, statusChange: null };
      }
      const [written] = await rewriteMonitors(
        tx,
        context.secrets,
        [{ before, input, changed }],
        defaultRegion,
      );
      if (!written) throw new Error('no monitor was written');
      return { ...toWritten(context, written), changed: true, statusChange: written.statusChange };
    })
    .catch((error: unknown) => {
      throw externalIdTaken(error, update.externalId) ?? error;
    });
}

/** A monitor that no key opens can be changed only by replacing what is unreadable: it would be lost for good otherwise. */
function readBefore({ secrets }: DbContext, row: MonitorRow, update: MonitorUpdate): MonitorInput {
  try {
    return toInput(row, secrets);
  } catch (error) {
    if (!(error instanceof UnreadableMonitorError)) throw error;
    const replacesAll =
      (row.sealedHeaders === null || update.headers !== undefined) &&
      (row.sealedBody === null || update.body !== undefined);
    if (replacesAll) {
      const errors = placeholderErrors(row, update, secrets);
      if (errors.length === 0) return toShownInput(row, secrets);
      throw new AppError(
        'validation_failed',
        'The header values or the body of this monitor cannot be read. Send the true values.',
        { errors },
      );
    }
    throw new AppError(
      'conflict',
      'No key of this server opens the header values or the body of this monitor. Restore the key in SECRETS_KEY, or send headers and body again with this update.',
      { cause: error },
    );
  }
}

function mergeInput(before: MonitorInput, update: MonitorUpdate): MonitorInput {
  const given = Object.fromEntries(Object.entries(update).filter(([, value]) => value !== undefined));
  const merged: MonitorInput = { ...before, ...given };
  const errors = monitorConflicts(merged);
  if (errors.length > 0) {
    throw new AppError('validation_failed', 'The monitor would break a rule after this update.', { errors });
  }
  return merged;
}
