import { AppError } from '@tocsin/contracts/errors';
import type { Monitor, MonitorInput } from '@tocsin/contracts/monitor';
import { phaseMs } from '@tocsin/core/schedule/phase';
import { sql } from 'drizzle-orm';
import { v7 as uuidv7 } from 'uuid';
import { arrayOf } from '../database/arrays.ts';
import type { DbContext } from '../database/context.ts';
import { brokenUniqueConstraint } from '../database/errors.ts';
import type { Transaction } from '../database/open.ts';
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
      await assignRegions(tx, id, regions, input.interval);
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

/** The regions that check a new monitor and, in the same round trip, the spans of what they are to check. */
async function assignRegions(
  tx: Transaction,
  id: string,
  regions: readonly string[],
  intervalSeconds: number,
): Promise<void> {
  await tx.execute(sql`
    with assigned as (
      insert into monitor_regions (monitor_id, region)
      select ${id}, unnest(${arrayOf('text', regions)}) returning monitor_id, region)
    insert into schedule_spans (monitor_id, region, interval_seconds, phase_ms)
    select monitor_id, region, ${intervalSeconds}::int, ${phaseMs(id, intervalSeconds * 1_000)}::int from assigned`);
}

/** The conflict behind a broken unique constraint on externalId, or null for any other error. */
export function externalIdTaken(error: unknown, externalId: string | null | undefined): AppError | null {
  if (brokenUniqueConstraint(error) !== 'monitors_external_id_key') return null;
  return new AppError('conflict', `Another monitor of this account has externalId "${externalId}".`, {
    errors: [{ path: 'externalId', message: 'is taken by another monitor of this account' }],
    cause: error,
  });
}
