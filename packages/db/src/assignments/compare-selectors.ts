import { setImmediate as nextTurn } from 'node:timers/promises';
import { labelTexts } from '@tocsin/contracts/labels/labels';
import type { Selector } from '@tocsin/contracts/labels/selector';
import { matchesSelector } from '@tocsin/contracts/labels/selector-syntax';
import { isSourceAllowed } from '@tocsin/contracts/labels/sources';
import type { MonitorRow } from '../monitors/table.ts';

/** Labels and values to compare in one turn of the event loop. */
const MAX_COMPARISONS = 20_000;
/** Limits per statement, so that its memory and time do not grow with the number of owners. */
const MAX_OWNERS = 200;
const MAX_PAIRS = 20_000;

export interface Owner {
  readonly id: string;
  /** Null if the selector has no matches, because it selects nothing or everything. */
  readonly selector: Selector | null;
  /** Sources whose monitors may match, or null for all. */
  readonly sources: readonly string[] | null;
}

export type Labeled = Pick<MonitorRow, 'id' | 'labels' | 'source'>;

interface Pair {
  readonly ownerId: string;
  readonly monitorId: string;
}

export type Compared = readonly [owners: readonly Owner[], monitors: readonly Labeled[]];

interface Batch {
  readonly ownerIds: readonly string[];
  readonly pairs: readonly Pair[];
}

/** Compares owners with monitors, a batch at a time. */
export async function* matchesOf(
  owners: readonly Owner[],
  monitors: readonly Labeled[],
): AsyncGenerator<Batch, void, undefined> {
  if (owners.length === 0) return;
  const candidatesOf = indexByLabel(monitors);
  let ownerIds: string[] = [];
  let pairs: Pair[] = [];
  let compared = 0;
  for (const { id: ownerId, selector, sources } of owners) {
    ownerIds.push(ownerId);
    if (selector !== null) {
      const cost = 1 + (selector.matchExpressions ?? []).flatMap(({ values = [] }) => values).length;
      for (const { id: monitorId, labels, source } of candidatesOf(selector)) {
        if (isSourceAllowed(sources, source) && matchesSelector(selector, labels)) {
          pairs.push({ ownerId, monitorId });
        }
        compared += cost;
        if (compared < MAX_COMPARISONS) continue;
        compared = 0;
        await nextTurn();
      }
    }
    if (ownerIds.length < MAX_OWNERS && pairs.length < MAX_PAIRS) continue;
    yield { ownerIds, pairs };
    ownerIds = [];
    pairs = [];
  }
  if (ownerIds.length > 0) yield { ownerIds, pairs };
}

/** Finds the monitors with a label that the selector requires. */
function indexByLabel(monitors: readonly Labeled[]): (selector: Selector) => readonly Labeled[] {
  const byLabel = new Map<string, Labeled[]>();
  for (const monitor of monitors) {
    for (const label of labelTexts(monitor.labels)) {
      const labeled = byLabel.get(label);
      if (labeled) labeled.push(monitor);
      else byLabel.set(label, [monitor]);
    }
  }
  return (selector) => requiredLabels(selector)?.flatMap((label) => byLabel.get(label) ?? []) ?? monitors;
}

/** Returns labels as `key=value`. A monitor needs at least one of them to match. Null if any monitor can match. */
function requiredLabels({ matchLabels = {}, matchExpressions = [] }: Selector): string[] | null {
  const [label] = labelTexts(matchLabels);
  if (label !== undefined) return [label];
  const condition = matchExpressions.find(({ operator }) => operator === 'In');
  if (condition === undefined) return null;
  return [...new Set(condition.values)].map((value) => `${condition.key}=${value}`);
}
