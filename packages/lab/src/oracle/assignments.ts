import { isDeepStrictEqual } from 'node:util';
import type { Labels } from '@tocsin/contracts/labels/labels';
import type { Selector } from '@tocsin/contracts/labels/selector';
import type { ChannelScope } from '../load/world-plan.ts';
import type { FaultRecord, ChannelFacts, Edit, MonitorFacts } from './record.ts';

/** Under faults, the channels for a status change may be read this long after its timestamp. */
const DECIDED_WITHIN_MS = 15_000;
const ALL: ChannelScope = { selector: null, events: null };

/**
 * Returns whether a channel must receive a webhook event. Null means that it may, because an edit coincides with the change.
 * @param timestamp of the status change. The monitor is locked from then on, so its labels cannot change
 */
export function mustReceive(
  { plan, rescoped }: ChannelFacts,
  monitor: MonitorFacts,
  event: string,
  timestamp: number,
): boolean | null {
  const isListed = plan.monitors?.includes(monitor.plan.key) ?? true;
  const scopes = valuesAt(plan.scope ?? ALL, rescoped, timestamp, timestamp + DECIDED_WITHIN_MS);
  const labels = valuesAt(monitor.plan.labels, monitor.relabeled, timestamp, timestamp);
  const options = new Set(
    scopes.flatMap(({ selector, events }) =>
      labels.map((own) => {
        const hasEvent = events?.some((one) => one === event) ?? true;
        return hasEvent && (isListed || isSelected(selector, own));
      }),
    ),
  );
  return options.size === 1 ? options.has(true) : null;
}

/** Returns the values that may have been stored at any time in a span. */
function valuesAt<Value>(
  initial: Value,
  edits: readonly Edit<Value>[],
  from: number,
  until: number,
): Value[] {
  const all = [{ from: -Infinity, value: initial }, ...edits];
  return all.flatMap((one, index) => {
    const replacedBy = edits[index]?.until ?? Infinity;
    return one.from <= until && replacedBy >= from ? [one.value] : [];
  });
}

/** A second implementation of Kubernetes selectors, which shares no code with the services. */
function isSelected(selector: Selector | null, labels: Labels): boolean {
  if (selector === null) return false;
  const own = new Map(Object.entries(labels));
  for (const [key, value] of Object.entries(selector.matchLabels ?? {})) {
    if (own.get(key) !== value) return false;
  }
  for (const { key, operator, values = [] } of selector.matchExpressions ?? []) {
    const isOneOf = values.some((value) => own.get(key) === value);
    if (operator === 'Exists' && !own.has(key)) return false;
    if (operator === 'DoesNotExist' && own.has(key)) return false;
    if (operator === 'In' && !isOneOf) return false;
    if (operator === 'NotIn' && isOneOf) return false;
  }
  return true;
}

export function lostEdits({ monitors, channels, database }: FaultRecord): string[] {
  const rows = new Map([...database.monitors, ...database.channels].map((row) => [row.id, row]));
  const labels = monitors
    .filter(({ id, deletedAt }) => deletedAt === null && rows.has(id))
    .map(({ id, plan, relabeled }) => ({ id, plan, written: relabeled.at(-1)?.value ?? plan.labels }));
  const selectors = channels.map(({ id, plan, rescoped }) => {
    return { id, plan, written: (rescoped.at(-1)?.value ?? plan.scope ?? ALL).selector };
  });
  return [...labels, ...selectors].flatMap(({ id, plan, written }) => {
    const row = rows.get(id);
    const stored = row && ('labels' in row ? row.labels : row.selector);
    if (isDeepStrictEqual(stored, written)) return [];
    return [`${plan.key} has ${JSON.stringify(stored)} instead of ${JSON.stringify(written)}`];
  });
}

export function wrongMatches({ database: { monitors, channels } }: FaultRecord): string[] {
  return channels.flatMap(({ id, selector, matchedIds }) =>
    monitors.flatMap((monitor) => {
      const isMatched = matchedIds.includes(monitor.id);
      if (isMatched === isSelected(selector, monitor.labels)) return [];
      return isMatched
        ? [`channel ${id} has ${monitor.name}, which its selector does not match`]
        : [`channel ${id} does not have ${monitor.name}, which its selector matches`];
    }),
  );
}
