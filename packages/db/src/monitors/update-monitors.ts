import { AppError } from '@tocsin/contracts/errors';
import type { MonitorInput, MonitorUpdate } from '@tocsin/contracts/monitors/monitor';
import { monitorErrors } from '@tocsin/core/checks/monitor-errors';
import { lockAssignments } from '../assignments/assignments.ts';
import { type Actor, requireSource } from '../audit-log/actor.ts';
import { recordAudit } from '../audit-log/record-audit.ts';
import { requireVersion, rethrowConflict } from '../database/errors.ts';
import { changedFields, merge } from '../database/fields.ts';
import type { DbContext } from '../database/open.ts';
import { firstOf } from '../database/sql.ts';
import { namedRegions, requireRegions } from '../agents/require-regions.ts';
import { monitorGrowth, requireQuotas, type WriteContext } from '../accounts/quotas.ts';
import { toWritten, type WrittenMonitor } from './create-monitors.ts';
import { auditMonitor, placeholderErrors, readInput } from './monitor-codec.ts';
import { findMonitorRow, versionOf } from './monitor-row.ts';
import type { MonitorRow } from './table.ts';
import { effectiveRegions, writeMonitors, type WrittenRow } from './write-monitors.ts';

export interface UpdatedMonitor extends WrittenMonitor, Pick<WrittenRow, 'statusChange'> {
  /** False if the update changed nothing. The revision then stays the same. */
  readonly changed: boolean;
}

/**
 * Changes the given fields of a monitor (docs/concepts/statuses.md#edits).
 * @param versions allowed versions of the monitor (see `versionOf`), or null for any
 * @throws AppError not_found, source_not_allowed, precondition_failed, quota_exceeded, validation_failed if the merged record breaks a rule,
 * names a region that the account cannot use, or contains "(unreadable)", conflict if the externalId is taken or the update does not replace secrets that no key decrypts
 */
export async function updateMonitor(
  context: WriteContext,
  actor: Actor,
  id: string,
  update: MonitorUpdate,
  defaultRegion: string,
  versions: ReadonlySet<string> | null = null,
): Promise<UpdatedMonitor> {
  const { accountId } = actor;
  return context.db
    .transaction(async (tx) => {
      if (update.labels !== undefined || update.source !== undefined)
        await lockAssignments(tx, accountId, 'shared');
      const before = await findMonitorRow(tx, accountId, id, 'no key update');
      await requireRegions(tx, accountId, context, namedRegions(update.regions ?? []));
      requireSource(actor, before.source);
      if (update.source !== undefined) requireSource(actor, update.source);
      requireVersion('monitor', versionOf(before), versions);
      const oldInput = readBefore(context, before, update);
      const input = mergeInput(oldInput, update);
      const changed = changedFields(oldInput, input);
      if (changed.length === 0) {
        const regions = effectiveRegions(input.regions, defaultRegion);
        return { ...toWritten(context, { row: before, regions }), changed: false, statusChange: null };
      }
      const scope = { tx, secrets: context.secrets, accountId, defaultRegion };
      const written = firstOf(await writeMonitors(scope, [{ before, input, changed }]));
      await recordAudit(tx, actor, auditMonitor(before, written.row, changed));
      await requireQuotas(tx, accountId, context, monitorGrowth([written.row], [before]));
      return { ...toWritten(context, written), changed: true, statusChange: written.statusChange };
    })
    .catch(rethrowConflict(context.db, accountId, update.externalId));
}

/** Reads the monitor before an update, which must replace any unreadable secrets. Otherwise they would be lost for good. */
function readBefore({ secrets }: DbContext, row: MonitorRow, update: MonitorUpdate): MonitorInput {
  const { shown, error } = readInput(row, secrets);
  if (error === null) return shown;
  const replacesAll =
    (row.sealedHeaders === null || update.headers !== undefined) &&
    (row.sealedBody === null || update.body !== undefined) &&
    (row.sealedTlsKey === null || update.tls !== undefined);
  if (!replacesAll) {
    const message =
      'No key of this server decrypts the header values, the body or the TLS key of this monitor. Restore the key in SECRETS_KEY, or send headers, body and tls again with this update.';
    throw new AppError('conflict', message, { cause: error });
  }
  const errors = placeholderErrors(row, update, secrets);
  if (errors.length === 0) return shown;
  const message = 'Secrets of this monitor cannot be read. Send the actual values.';
  throw new AppError('validation_failed', message, { errors });
}

function mergeInput(before: MonitorInput, update: MonitorUpdate): MonitorInput {
  const merged = merge(before, update);
  const errors = monitorErrors({ ...merged, tls: update.tls ?? null });
  if (errors.length === 0) return merged;
  throw new AppError('validation_failed', 'The monitor would break a rule after this update.', { errors });
}
