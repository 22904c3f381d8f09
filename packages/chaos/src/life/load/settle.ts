import { until } from '@tocsin/embedded/testing/until';
import type { SystemLoad } from './system-load.ts';

/** Longer than the first retries of a webhook take. */
const WITHIN_MS = 180_000;

/** What is due still. */
interface Left {
  readonly undispatched: number;
  readonly pending: number;
  /** What attempts of the pending deliveries came to. */
  readonly failures: readonly string[];
}

/** Resolves when every webhook is delivered: for a system whose checkers have stopped, so that no more become due. */
export async function settle(load: SystemLoad): Promise<void> {
  let left = await readLeft(load);
  const isSettled = async (): Promise<boolean> => {
    left = await readLeft(load);
    return left.undispatched + left.pending === 0;
  };
  await until('every webhook delivered', isSettled, WITHIN_MS).catch((error: unknown) => {
    throw new Error(`left is ${JSON.stringify(left)}`, { cause: error });
  });
}

/** Waits until the planned checks up to a moment, epoch milliseconds, have run. */
export async function untilCheckedSince(load: SystemLoad, moment: number): Promise<void> {
  const { pool } = load.lab.database;
  const open = `select from monitor_regions
    where monitor_id = any($1::uuid[]) and last_result_at < to_timestamp($2::float8 / 1000) limit 1`;
  const isChecked = async (): Promise<boolean> => {
    const { rowCount } = await pool.query(open, [load.monitorIds, moment]);
    return rowCount === 0;
  };
  await until('every monitor checked once more', isChecked, WITHIN_MS);
}

async function readLeft(load: SystemLoad): Promise<Left> {
  const { rows } = await load.lab.database.pool.query<Left>(
    `select (select count(*)::int from status_changes where dispatched_at is null) as undispatched,
       (select count(*)::int from deliveries where state = 'pending') as pending,
       array(select distinct a.error from attempts a join deliveries d on d.id = a.delivery_id
         where d.state = 'pending' and a.error is not null limit 5) as failures`,
  );
  return rows[0] ?? { undispatched: 0, pending: 0, failures: [] };
}
