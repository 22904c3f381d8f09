import type { EventFacts, Evidence, MonitorFacts, StatusChangeFacts } from './record.ts';

export function iso(time: number): string {
  return new Date(time).toISOString();
}

/** Items by a key, each list in the given order. */
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

/** A time that a monitor spent in maintenance, by its status changes. */
interface MaintainedSpan {
  readonly enteredAt: number;
  /** Null: it is still in maintenance. */
  readonly leftAt: number | null;
}

/** What was recorded about one monitor. */
export interface History {
  readonly monitor: MonitorFacts;
  /** In the order of their stamps. */
  readonly events: readonly EventFacts[];
  /** In the order of their stamps. */
  readonly changes: readonly StatusChangeFacts[];
  /** Earliest first. */
  readonly maintained: readonly MaintainedSpan[];
}

/** The same record is asked for by many checks. */
const known = new WeakMap<Evidence, readonly History[]>();

/** The history of each monitor. */
export function historiesOf(evidence: Evidence): readonly History[] {
  const histories = known.get(evidence) ?? readHistories(evidence);
  known.set(evidence, histories);
  return histories;
}

function readHistories({ database, monitors }: Evidence): History[] {
  const events = groupBy(
    database.events.toSorted((one, other) => one.timestamp - other.timestamp),
    ({ monitorId }) => monitorId,
  );
  const changes = groupBy(
    database.statusChanges.toSorted(
      (one, other) => one.timestamp - other.timestamp || (one.id < other.id ? -1 : 1),
    ),
    ({ monitorId }) => monitorId,
  );
  return monitors.map((monitor) => {
    const own = { events: events.get(monitor.id) ?? [], changes: changes.get(monitor.id) ?? [] };
    return { monitor, ...own, maintained: maintainedSpans(own) };
  });
}

/** The histories of monitors that exist. */
export function existing(evidence: Evidence): readonly History[] {
  return historiesOf(evidence).filter(({ monitor }) => monitor.deletedAt === null);
}

/**
 * A monitor that a check put into maintenance was there before the result was applied, and the change has the next stamp after the
 * event: these spans begin with the event.
 */
function maintainedSpans({ events, changes }: Pick<History, 'events' | 'changes'>): MaintainedSpan[] {
  const stamps = new Set(events.map(({ timestamp }) => timestamp));
  return changes.flatMap(({ to, timestamp }, index) => {
    if (to !== 'MAINTENANCE') return [];
    const enteredAt = stamps.has(timestamp - 1) ? timestamp - 1 : timestamp;
    return [{ enteredAt, leftAt: changes[index + 1]?.timestamp ?? null }];
  });
}
