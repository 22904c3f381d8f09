import type { Monitor } from '@tocsin/contracts/monitor';
import { desc, eq } from 'drizzle-orm';
import type { DbContext } from '../database/context.ts';
import { toMonitor } from './monitor-columns.ts';
import { monitors } from './table.ts';

/** Every monitor of the account, by creation date, then id, descending. */
export async function listMonitors(context: DbContext, accountId: string): Promise<Monitor[]> {
  const rows = await context.db
    .select()
    .from(monitors)
    .where(eq(monitors.accountId, accountId))
    .orderBy(desc(monitors.createdAt), desc(monitors.id));
  return rows.map((row) => toMonitor(row, context.secrets));
}
