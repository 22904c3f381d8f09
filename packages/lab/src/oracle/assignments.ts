import type { Labels } from '@tocsin/contracts/labels/labels';
import type { Selector } from '@tocsin/contracts/labels/selector';
import type { ChannelScope } from '../load/world-plan.ts';
import type { FaultRecord, ChannelFacts, Check, Edit, MonitorFacts } from './record.ts';

/** The longest time from the timestamp of a status change to the statement that reads its channels, under faults. */
const DECIDED_WITHIN_MS = 15_000;
const ALL: ChannelScope = { selector: null, events: null };

export const ASSIGNMENT_CHECKS: readonly Check<FaultRecord>[] = [
  ['each confirmed label and selector is stored', lostEdits],
  ['each selector has the monitors that it matches', wrongMatches],
];

/**
 * Whether a channel must receive a webhook event of a monitor. Null means that it may, because an edit coincides with the change.
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

/** Returns the values that may have been stored at some time of a span. */
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

function lostEdits({ monitors, channels, database }: FaultRecord): string[] {
  const labelsOf = new Map(database.monitors.map(({ id, labels }) => [id, labels]));
  const selectorOf = new Map(database.channels.map(({ id, selector }) => [id, selector]));
  return [
    ...monitors
      .filter(({ id, deletedAt }) => deletedAt === null && labelsOf.has(id))
      .flatMap(({ id, plan, relabeled }) =>
        differences(plan.key, labelsOf.get(id), relabeled.at(-1)?.value ?? plan.labels),
      ),
    ...channels.flatMap(({ id, plan, rescoped }) =>
      differences(plan.key, selectorOf.get(id), (rescoped.at(-1)?.value ?? plan.scope ?? ALL).selector),
    ),
  ];
}

function differences(key: string, stored: unknown, written: unknown): string[] {
  const [is, mustBe] = [textOf(stored), textOf(written)];
  return is === mustBe ? [] : [`${key} has ${is} instead of ${mustBe}`];
}

/** JSON with sorted keys, because Postgres stores objects in its own order. */
function textOf(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  );
}

function wrongMatches({ database: { monitors, channels } }: FaultRecord): string[] {
  return channels.flatMap(({ id, selector, matchedIds }) => {
    const matched = new Set(matchedIds);
    return monitors
      .filter((monitor) => matched.has(monitor.id) !== isSelected(selector, monitor.labels))
      .map(({ id: monitorId, name }) =>
        matched.has(monitorId)
          ? `channel ${id} has ${name}, which its selector does not match`
          : `channel ${id} does not have ${name}, which its selector matches`,
      );
  });
}
