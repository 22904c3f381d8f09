import { AppError } from '@tocsin/contracts/errors';
import type { Monitor, MonitorInput } from '@tocsin/contracts/monitor';
import { v7 as uuidv7 } from 'uuid';
import type { DbContext } from '../database/context.ts';
import { brokenUniqueConstraint } from '../database/errors.ts';
import { monitorRegions } from '../monitor-regions/table.ts';
import { toColumns, toMonitor } from './monitor-columns.ts';
import { effectiveRegions, type MonitorSchedule } from './schedule.ts';
import { monitors } from './table.ts';

/** A monitor as it was written, and the schedule that is due for it. */
export interface WrittenMonitor {
  readonly monitor: Monitor;
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
  const id = uuidv7();
  const regions = effectiveRegions(input.regions, defaultRegion);
  const row = await context.db
    .transaction(async (tx) => {
      const [inserted] = await tx
        .insert(monitors)
        .values({ id, accountId, ...toColumns(input, context.secrets) })
        .returning();
      await tx.insert(monitorRegions).values(regions.map((region) => ({ monitorId: id, region })));
      return inserted;
    })
    .catch((error: unknown) => {
      throw externalIdTaken(error, input.externalId) ?? error;
    });
  if (!row) throw new Error('insert returned no row');
  return {
    monitor: toMonitor(row, context.secrets),
    schedule: { monitorId: id, revision: row.revision, intervalSeconds: row.intervalSeconds, regions },
  };
}

/** The conflict behind a broken unique constraint on externalId, or null for any other error. */
export function externalIdTaken(error: unknown, externalId: string | null | undefined): AppError | null {
  if (brokenUniqueConstraint(error) !== 'monitors_external_id_key') return null;
  return new AppError('conflict', `Another monitor of this account has externalId "${externalId}".`, {
    errors: [{ path: 'externalId', message: 'is taken by another monitor of this account' }],
    cause: error,
  });
}
