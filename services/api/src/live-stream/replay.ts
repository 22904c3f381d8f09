import type { Database } from '@tocsin/db/database/open';
import { tailEvents } from '@tocsin/db/events/read-events';
import { listMonitorTimestamps, type TimestampRange } from '@tocsin/db/monitors/timestamps';
import { tailStatusChanges } from '@tocsin/db/status-changes/tail-status-changes';
import { REPLAY_OVERLAP_MS, type StreamLimits } from './stream-limits.ts';
import { readIncidents } from './incident-activity.ts';
import { type Message, opening, resetMessage, type StreamRecord, toMessage } from './messages.ts';

/**
 * Reads the first `limit` (at least 2) records in the ranges, by timestamp. `complete` if there are no others. A silent status change
 * follows the event with the same timestamp, and the two are never split.
 */
export async function readRecords(
  db: Database,
  accountId: string,
  ranges: readonly TimestampRange[],
  limit: number,
): Promise<{ records: StreamRecord[]; complete: boolean }> {
  const checks = await tailEvents(db, accountId, ranges, limit + 1);
  const changes = await tailStatusChanges(db, accountId, ranges, limit + 1);
  const all = [
    ...checks.map((record) => ({ kind: 'check', record }) as const),
    ...changes.map((record) => ({ kind: 'status-change', record }) as const),
  ].sort((one, other) => (orderOf(one) < orderOf(other) ? -1 : 1));
  const rest = all[limit];
  if (rest === undefined) return { records: all, complete: true };
  const last = all[limit - 1];
  const isSplit = last !== undefined && timestampOf(last) === timestampOf(rest);
  return { records: all.slice(0, isSplit ? limit - 1 : limit), complete: false };
}

/** Timestamps in JSON have a fixed length, so they sort as text. */
function timestampOf({ record }: StreamRecord): string {
  return `${record.timestamp} ${record.monitorId}`;
}

function orderOf(record: StreamRecord): string {
  return `${timestampOf(record)} ${record.kind}`;
}

export interface Replay {
  readonly opening: string;
  readonly messages: readonly Message[];
  /** Postgres' clock, epoch milliseconds. */
  readonly readAt: number;
}

/** Reads the records since `position`. Resets the client if the position is too old or in the future, or has too many records. */
export async function readReplay(
  db: Database,
  accountId: string,
  position: number,
  limits: Pick<StreamLimits, 'replayMs' | 'replayRecords'>,
): Promise<Replay> {
  const after = position - REPLAY_OVERLAP_MS;
  const { now, timestamps } = await listMonitorTimestamps(db, accountId, after);
  const reset = { opening: opening(now), messages: [resetMessage(now)], readAt: now };
  if (position < now - limits.replayMs || after > now) return reset;
  const ranges = Array.from(timestamps, ([monitorId, upTo]) => ({ monitorId, after, upTo }));
  const { records, complete } = await readRecords(db, accountId, ranges, limits.replayRecords);
  if (!complete) return reset;
  const messages = [...records.map(toMessage), ...(await readIncidents(db, accountId, after))];
  return { opening: opening(position), messages, readAt: now };
}
