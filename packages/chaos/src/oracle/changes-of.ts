import type { CampaignRecord, EventFacts, MonitorFacts, StatusChangeFacts } from './record.ts';

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

/**
 * When a monitor was in maintenance, earliest first. One that a check put there was in maintenance before the result was applied, and the
 * change has the next stamp after the event: these spans begin with the event.
 * @param events of this monitor
 */
export function maintainedSpans(
  changes: readonly StatusChangeFacts[],
  events: readonly EventFacts[],
): MaintainedSpan[] {
  const stamps = new Set(events.map(({ timestamp }) => timestamp));
  return changes.flatMap(({ to, timestamp }, index) => {
    if (to !== 'MAINTENANCE') return [];
    const enteredAt = stamps.has(timestamp - 1) ? timestamp - 1 : timestamp;
    return [{ enteredAt, leftAt: changes[index + 1]?.timestamp ?? null }];
  });
}
