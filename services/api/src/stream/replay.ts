import type { Database } from '@tocsin/db/database/open';
import { listMonitorStamps } from '@tocsin/db/monitors/list-monitor-stamps';
import { opening, resetMessage, toMessage } from './message.ts';
import type { Message } from './message.ts';
import { readRecords } from './read-records.ts';
import { REPLAY_OVERLAP_MS } from './stream-limits.ts';
import type { StreamLimits } from './stream-limits.ts';

export interface Replay {
  readonly opening: string;
  readonly messages: readonly Message[];
  /** Postgres' clock, epoch milliseconds. */
  readonly readAt: number;
}

/**
 * What a client that was at `position` may have missed (design §3 "Dashboard API"). Where that is too old, too much, or in
 * the future, which no stream ever gave out: a reset.
 */
export async function readReplay(
  db: Database,
  accountId: string,
  position: number,
  limits: Pick<StreamLimits, 'replayMs' | 'replayRecords'>,
): Promise<Replay> {
  const after = position - REPLAY_OVERLAP_MS;
  const { now, stamps } = await listMonitorStamps(db, accountId, after);
  const reset = { opening: opening(now), messages: [resetMessage(now)], readAt: now };
  if (position < now - limits.replayMs || after > now) return reset;
  const ranges = Array.from(stamps, ([monitorId, upTo]) => ({ monitorId, after, upTo }));
  const { records, complete } = await readRecords(db, accountId, ranges, limits.replayRecords);
  if (!complete) return reset;
  return { opening: opening(position), messages: records.map(toMessage), readAt: now };
}
