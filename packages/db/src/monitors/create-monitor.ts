import { AppError } from '@tocsin/contracts/errors';
import type { Monitor, MonitorInput } from '@tocsin/contracts/monitor';
import type { DbContext } from '../database/context.ts';
import { brokenUniqueConstraint } from '../database/errors.ts';
import { insertMonitors } from './insert-monitors.ts';
import type { WrittenRow } from './insert-monitors.ts';
import { toMonitor } from './monitor-columns.ts';
import { versionOf } from './monitor-version.ts';
import type { MonitorSchedule } from './schedule.ts';

/** A monitor as it was written, and the schedule that is due for it. */
export interface WrittenMonitor {
  readonly monitor: Monitor;
  /** See `versionOf`. */
  readonly version: string;
  readonly schedule: MonitorSchedule;
}

/**
 * Creates a monitor with status PENDING and its regions, in one transaction (specification "Create a monitor").
 * @throws AppError conflict where the account has the externalId already
 */
export async function createMonitor(
  context: DbContext,
  accountId: string,
  input: MonitorInput,
  defaultRegion: string,
): Promise<WrittenMonitor> {
  const [written] = await context.db
    .transaction((tx) => insertMonitors(tx, context.secrets, accountId, [input], defaultRegion))
    .catch((error: unknown) => {
      throw externalIdTaken(error, input.externalId) ?? error;
    });
  if (!written) throw new Error('no monitor was written');
  return toWritten(context, written);
}

/** A written row as the callers of queries know it. */
export function toWritten(
  { secrets }: Pick<DbContext, 'secrets'>,
  { row, regions }: WrittenRow,
): WrittenMonitor {
  return {
    monitor: toMonitor(row, secrets),
    version: versionOf(row),
    schedule: scheduleOf({ row, regions }),
  };
}

export function scheduleOf({ row, regions }: WrittenRow): MonitorSchedule {
  return { monitorId: row.id, revision: row.revision, intervalSeconds: row.intervalSeconds, regions };
}

/** The conflict behind a broken unique constraint on externalId, or null for any other error. */
export function externalIdTaken(error: unknown, externalId: string | null | undefined): AppError | null {
  if (brokenUniqueConstraint(error) !== 'monitors_external_id_key') return null;
  return new AppError('conflict', `Another monitor of this account has externalId "${externalId}".`, {
    errors: [{ path: 'externalId', message: 'is taken by another monitor of this account' }],
    cause: error,
  });
}
