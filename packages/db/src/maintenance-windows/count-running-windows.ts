import { eq } from 'drizzle-orm';
import type { Database } from '../database/open.ts';
import { maintenanceWindows } from './table.ts';

/** How many windows run now. */
export async function countRunningWindows(db: Database): Promise<number> {
  return db.$count(maintenanceWindows, eq(maintenanceWindows.state, 'running'));
}
