import type { Receipt } from '../world/receivers.ts';
import type { TargetVisit } from '../world/targets.ts';
import type {
  ChannelFacts,
  DeliveryFacts,
  EventFacts,
  Evidence,
  MonitorFacts,
  Span,
  StatusChangeFacts,
} from './record.ts';

export function iso(time: number): string {
  return new Date(time).toISOString();
}

export function overlaps(one: Span, other: Span): boolean {
  return one.from <= other.until && other.from <= one.until;
}

export function isWithin(time: number, { from, until }: Span): boolean {
  return from <= time && time <= until;
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

/** Everything that was recorded about one monitor, earliest first. */
export interface History {
  readonly monitor: MonitorFacts;
  readonly events: readonly EventFacts[];
  readonly changes: readonly StatusChangeFacts[];
  /** Times in maintenance, according to the status changes. The last one may end at Infinity. */
  readonly maintained: readonly Span[];
  readonly visits: readonly TargetVisit[];
}

/** A delivery with its monitor, channel and status change. Each of them is undefined if it is unknown. */
export interface Webhook {
  readonly delivery: DeliveryFacts;
  readonly monitor: MonitorFacts | undefined;
  readonly channel: ChannelFacts | undefined;
  readonly change: StatusChangeFacts | undefined;
  readonly receipts: readonly Receipt[];
}

/** Computes an index once for each record. */
function perRecord<Index>(read: (evidence: Evidence) => Index): (evidence: Evidence) => Index {
  const known = new WeakMap<Evidence, Index>();
  return (evidence) => {
    const index = known.get(evidence) ?? read(evidence);
    known.set(evidence, index);
    return index;
  };
}

export const historiesOf = perRecord<readonly History[]>(({ database, monitors, ...evidence }) => {
  const eventsOf = groupBy(database.events.toSorted(byTimestamp), ({ monitorId }) => monitorId);
  const changesOf = groupBy(database.statusChanges.toSorted(byTimestamp), ({ monitorId }) => monitorId);
  const visitsOf = groupBy(evidence.visits, ({ key }) => key);
  return monitors.map((monitor) => {
    const [events, changes] = [eventsOf.get(monitor.id) ?? [], changesOf.get(monitor.id) ?? []];
    const visits = visitsOf.get(monitor.plan.key) ?? [];
    return { monitor, events, changes, visits, maintained: maintainedSpans(events, changes) };
  });
});

export const webhooksOf = perRecord<readonly Webhook[]>(({ database, monitors, channels, receipts }) => {
  const monitorOf = new Map(monitors.map((monitor) => [monitor.id, monitor]));
  const channelOf = new Map(channels.map((channel) => [channel.id, channel]));
  const changeOf = new Map(database.statusChanges.map((change) => [change.id, change]));
  const receiptsOf = groupBy(receipts, ({ key, id }) => `${key} ${id}`);
  return database.deliveries.map((delivery) => {
    const channel = channelOf.get(delivery.channelId);
    return {
      delivery,
      monitor: monitorOf.get(delivery.monitorId),
      channel,
      change: changeOf.get(delivery.statusChangeId),
      receipts: receiptsOf.get(`${channel?.plan.key} ${delivery.id}`) ?? [],
    };
  });
});

/** Returns the histories of the monitors that were not deleted. */
export function existing(evidence: Evidence): readonly History[] {
  return historiesOf(evidence).filter(({ monitor }) => monitor.deletedAt === null);
}

function byTimestamp(one: { readonly timestamp: number }, other: { readonly timestamp: number }): number {
  return one.timestamp - other.timestamp;
}

/**
 * A check may put its monitor into maintenance before its result is applied. The change then has the next timestamp after the event,
 * and the span begins with the event.
 */
function maintainedSpans(events: History['events'], changes: History['changes']): Span[] {
  const stamps = new Set(events.map(({ timestamp }) => timestamp));
  return changes.flatMap(({ to, timestamp }, index) => {
    if (to !== 'MAINTENANCE') return [];
    const from = stamps.has(timestamp - 1) ? timestamp - 1 : timestamp;
    return [{ from, until: changes[index + 1]?.timestamp ?? Infinity }];
  });
}

/** Returns the spans between consecutive times that are longer than a limit. */
export function gapsOver(maxMs: number, times: readonly number[]): Span[] {
  return times
    .slice(1)
    .map((until, index) => ({ from: times[index] ?? until, until }))
    .filter(({ from, until }) => until - from > maxMs);
}
