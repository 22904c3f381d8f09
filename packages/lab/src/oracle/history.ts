import type { TargetVisit } from '../world/targets.ts';
import type { EventFacts, Evidence, MonitorFacts, StatusChangeFacts } from './record.ts';

export function iso(time: number): string {
  return new Date(time).toISOString();
}

/** Groups items by a key. Each list keeps the given order. */
export function groupBy<Item, Key>(items: readonly Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}

/** A time in maintenance, according to the status changes. */
export interface MaintainedSpan {
  readonly enteredAt: number;
  /** Infinity if the monitor is still in maintenance. */
  readonly leftAt: number;
}

/** Everything that was recorded about one monitor, earliest first. */
export interface History {
  readonly monitor: MonitorFacts;
  readonly events: readonly EventFacts[];
  readonly changes: readonly StatusChangeFacts[];
  readonly maintained: readonly MaintainedSpan[];
  readonly visits: readonly TargetVisit[];
}

const known = new WeakMap<Evidence, readonly History[]>();

/** Returns the history of each monitor. They are computed once for each record. */
export function historiesOf(evidence: Evidence): readonly History[] {
  const histories = known.get(evidence) ?? readHistories(evidence);
  known.set(evidence, histories);
  return histories;
}

/** Returns the histories of the monitors that were not deleted. */
export function existing(evidence: Evidence): readonly History[] {
  return historiesOf(evidence).filter(({ monitor }) => monitor.deletedAt === null);
}

function readHistories({ database, ...evidence }: Evidence): History[] {
  const eventsOf = groupBy(database.events.toSorted(byTimestamp), ({ monitorId }) => monitorId);
  const changesOf = groupBy(database.statusChanges.toSorted(byTimestamp), ({ monitorId }) => monitorId);
  const visitsOf = groupBy(evidence.visits, ({ key }) => key);
  return evidence.monitors.map((monitor) => {
    const [events, changes] = [eventsOf.get(monitor.id) ?? [], changesOf.get(monitor.id) ?? []];
    const visits = visitsOf.get(monitor.plan.key) ?? [];
    return { monitor, events, changes, visits, maintained: maintainedSpans(events, changes) };
  });
}

function byTimestamp(one: { readonly timestamp: number }, other: { readonly timestamp: number }): number {
  return one.timestamp - other.timestamp;
}

/**
 * A check may put its monitor into maintenance before its result is applied. The change then has the next timestamp after the event,
 * and the span begins with the event.
 */
function maintainedSpans(events: History['events'], changes: History['changes']): MaintainedSpan[] {
  const stamps = new Set(events.map(({ timestamp }) => timestamp));
  return changes.flatMap(({ to, timestamp }, index) => {
    if (to !== 'MAINTENANCE') return [];
    const enteredAt = stamps.has(timestamp - 1) ? timestamp - 1 : timestamp;
    return [{ enteredAt, leftAt: changes[index + 1]?.timestamp ?? Infinity }];
  });
}
