import { sql } from 'drizzle-orm';
import { columnOf } from '../database/arrays.ts';
import type { Transaction } from '../database/open.ts';
import type { CheckRecord } from './check-record.ts';
import type { LockedMonitor } from './lock-monitors.ts';

/**
 * The results whose slot is an event already although no region remembers it: the region checks the monitor no longer, or was
 * taken away and given back. They are recorded, as every check that ran (specification "Monitor event"), but once. Asks only
 * where there is such a result.
 */
export async function repeatedChecks(
  tx: Transaction,
  checks: readonly CheckRecord[],
  monitors: ReadonlyMap<string, LockedMonitor>,
): Promise<ReadonlySet<CheckRecord>> {
  const forgotten = checks.filter((check) => isForgotten(check, monitors.get(check.monitorId)));
  if (forgotten.length === 0) return new Set();
  // The slot is of the checker's clock or the queue's, the stamp of Postgres': an hour apart at most.
  const { rows } = await tx.execute<{ index: number }>(sql`
    select u.index from unnest(
      ${columnOf([...forgotten.keys()], 'int', (index) => index)},
      ${columnOf(forgotten, 'uuid', (check) => check.monitorId)},
      ${columnOf(forgotten, 'text', (check) => check.region)},
      ${columnOf(forgotten, 'timestamptz', ({ slot }) => new Date(slot ?? 0).toISOString())}
    ) as u (index, monitor_id, region, slot)
    where exists (
      select from events e
      where e.monitor_id = u.monitor_id and e.timestamp > u.slot - interval '1 hour'
        and e.slot = u.slot and e.region = u.region)`);
  return new Set(rows.flatMap(({ index }) => forgotten[index] ?? []));
}

function isForgotten({ region, slot }: CheckRecord, monitor: LockedMonitor | undefined): boolean {
  if (monitor === undefined || slot === null) return false;
  const state = monitor.regions.get(region);
  return state === undefined || (state.recentSlots.length === 0 && slot < state.since);
}
