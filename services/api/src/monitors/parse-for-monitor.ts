import { findMonitorRow } from '@tocsin/db/monitors/monitor-row';
import type { ApiContext } from '../context.ts';

/**
 * Parses what a request says of a monitor. Where that fails, a monitor that is not there is said first: 404 comes before
 * field errors (design §3 "Validation"). The way of a good request costs no extra query.
 * @throws AppError not_found, or what `parse` throws
 */
export async function parseForMonitor<Value>(
  { db }: Pick<ApiContext, 'db'>,
  accountId: string,
  id: string,
  parse: () => Value,
): Promise<Value> {
  try {
    return parse();
  } catch (error) {
    await findMonitorRow(db, accountId, id);
    throw error;
  }
}
