import type { Event } from '@tocsin/contracts/event';
import type { StatusChange } from '@tocsin/contracts/status-change';
import type { Database } from '@tocsin/db/database/open';
import { tailEvents } from '@tocsin/db/events/tail-events';
import type { StampRange } from '@tocsin/db/monitors/stamp-range';
import { tailStatusChanges } from '@tocsin/db/status-changes/tail-status-changes';

/** What the live stream tells of a monitor. */
export type StreamRecord =
  | { readonly kind: 'check'; readonly record: Event }
  | { readonly kind: 'status-change'; readonly record: StatusChange };

/**
 * The first `limit` events and status changes in the ranges, by timestamp. A silent status change shares the stamp of its
 * event: it comes right after it, and the two are never in different answers.
 * @param limit at least 2
 * @returns `complete`: whether the ranges hold nothing else
 */
export async function readRecords(
  db: Database,
  accountId: string,
  ranges: readonly StampRange[],
  limit: number,
): Promise<{ records: StreamRecord[]; complete: boolean }> {
  const checks = await tailEvents(db, accountId, ranges, limit + 1);
  const changes = await tailStatusChanges(db, accountId, ranges, limit + 1);
  const all = [
    ...checks.map((record) => ({ kind: 'check', record }) as const),
    ...changes.map((record) => ({ kind: 'status-change', record }) as const),
  ].sort((one, other) => compare(orderOf(one), orderOf(other)));
  const rest = all[limit];
  if (rest === undefined) return { records: all, complete: true };
  const last = all[limit - 1];
  const isSplit = last !== undefined && stampOf(last) === stampOf(rest);
  return { records: all.slice(0, isSplit ? limit - 1 : limit), complete: false };
}

/** Timestamps of the wire have one length: they sort as text. */
function stampOf({ record }: StreamRecord): string {
  return `${record.timestamp} ${record.monitorId}`;
}

function orderOf(record: StreamRecord): string {
  return `${stampOf(record)} ${record.kind}`;
}

function compare(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
