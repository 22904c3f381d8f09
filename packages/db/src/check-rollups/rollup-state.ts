import { sql } from 'drizzle-orm';
import type { Database, Queryable } from '../database/open.ts';
import { checkRollupState } from './table.ts';

/** How far the events are rolled up. */
export interface RollupState {
  /** The start of the first hour that is not. */
  readonly rolledUntil: Date;
  /** Gaps of the last hour that is, by region; regions without any are left out. */
  readonly lastGaps: Readonly<Record<string, number>>;
  /** How long leading apis have run, in all, while `rolledUntil` was older than the clock of Postgres explains; in milliseconds. */
  readonly clockDoubtedMs: number;
}

/** Null before the first roll-up. */
export async function readRollupState(db: Queryable): Promise<RollupState | null> {
  const [state] = await db.select().from(checkRollupState);
  return state ?? null;
}

/** Keeps how long the clock has been doubted; nothing before the first roll-up. */
export async function writeClockDoubt(db: Database, clockDoubtedMs: number): Promise<void> {
  await db.update(checkRollupState).set({ clockDoubtedMs });
}

/**
 * Waits for the slice of a roll-up that is being written, if there is one. Slices that begin later do not see monitors that were
 * deleted before.
 */
export async function waitForRollUp(db: Database): Promise<void> {
  await db.execute(sql`select from check_rollup_state for share`);
}
