import type { CampaignRecord, MonitorFacts, StatusChangeFacts } from './record.ts';

/** A time that a monitor spent in maintenance, by its status changes; epoch milliseconds. */
export interface MaintainedSpan {
  readonly enteredAt: number;
  /** Null: it is in maintenance still. */
  readonly leftAt: number | null;
}

/** The status changes of a monitor in the order of their stamps. */
export function changesOf(record: CampaignRecord, monitor: MonitorFacts): StatusChangeFacts[] {
  return record.database.statusChanges
    .filter(({ monitorId }) => monitorId === monitor.id)
    .sort((one, other) => one.timestamp - other.timestamp || (one.id < other.id ? -1 : 1));
}

/** When a monitor was in maintenance, earliest first. */
export function maintainedSpans(changes: readonly StatusChangeFacts[]): MaintainedSpan[] {
  return changes.flatMap(({ to, timestamp }, index) =>
    to === 'MAINTENANCE' ? [{ enteredAt: timestamp, leftAt: changes[index + 1]?.timestamp ?? null }] : [],
  );
}
