import type { Queryable } from '../database/open.ts';
import { checkRollupState } from './table.ts';

/** How far the events are rolled up. */
export interface RollupState {
  /** The start of the first hour that is not. */
  readonly rolledUntil: Date;
  /** Gaps of the last hour that is, by region; regions without any are left out. */
  readonly lastGaps: Readonly<Record<string, number>>;
}

/** Null before the first roll-up. */
export async function readRollupState(db: Queryable): Promise<RollupState | null> {
  const [state] = await db.select().from(checkRollupState);
  return state ?? null;
}
