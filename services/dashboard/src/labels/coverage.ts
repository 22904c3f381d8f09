import type { Channel } from '@tocsin/contracts/channels/channel';
import type { FieldError } from '@tocsin/contracts/errors';
import type { Labels } from '@tocsin/contracts/labels/labels';
import type { Selector } from '@tocsin/contracts/labels/selector';
import { formatSelector, matchesSelector } from '@tocsin/contracts/labels/selector-syntax';
import { isSourceAllowed } from '@tocsin/contracts/labels/sources';
import { formatCount } from '../components/format.ts';
import { readSelector } from './selector-text.ts';

/** Says which monitors a channel or maintenance window covers: listed ones, those that match a selector, or all. */
export type Coverage = Pick<Channel, 'monitorIds' | 'allMonitors' | 'selector'> & {
  /** Restricts unlisted monitors to these sources. Null or absent for any source. */
  readonly sources?: readonly string[] | null;
};

interface LabeledMonitor {
  readonly id: string;
  readonly labels: Labels;
  readonly source: string | null;
}

export function isCovered(coverage: Coverage, monitor: LabeledMonitor): boolean {
  return coverage.monitorIds.includes(monitor.id) || isMatched(coverage, monitor);
}

function isMatched({ allMonitors, selector, sources = null }: Coverage, monitor: LabeledMonitor): boolean {
  if (!isSourceAllowed(sources, monitor.source)) return false;
  return allMonitors || (selector !== null && matchesSelector(selector, monitor.labels));
}

/** The covered monitors in their original order. */
export function listCovered<One extends LabeledMonitor>(
  coverage: Coverage,
  monitors: readonly One[],
): readonly One[] {
  const listed = new Set(coverage.monitorIds);
  return monitors.filter((monitor) => listed.has(monitor.id) || isMatched(coverage, monitor));
}

/** Formats as `All monitors`, `3 monitors` or `No monitors yet`. @param monitors undefined while loading */
export function describeCoverage(
  coverage: Coverage,
  monitors: readonly LabeledMonitor[] | undefined,
): string {
  const { allMonitors, monitorIds, selector, sources = null } = coverage;
  if (allMonitors && sources === null) return 'All monitors';
  if (monitors === undefined && (allMonitors || selector !== null)) return 'Matching monitors';
  const count = monitors === undefined ? monitorIds.length : listCovered(coverage, monitors).length;
  return count === 0 ? 'No monitors yet' : formatCount(count, 'monitor');
}

export type CoverageValues = {
  readonly monitorIds: readonly string[];
  readonly allMonitors: boolean;
  /** In kubectl's syntax, or blank for none. */
  readonly selector: string;
};

/** The form shows a selector without conditions as "All monitors", because it matches every monitor. */
export function toCoverageValues({ monitorIds, allMonitors, selector }: Coverage): CoverageValues {
  const text = selector === null ? '' : formatSelector(selector);
  return { monitorIds, allMonitors: allMonitors || (selector !== null && text === ''), selector: text };
}

/** The fields of a request body. An invalid selector becomes null, and `findSelectorErrors` reports it. */
export function toCoverage({ monitorIds, allMonitors, selector }: CoverageValues): {
  monitorIds: string[];
  allMonitors: boolean;
  selector: Selector | null;
} {
  return { monitorIds: [...monitorIds], allMonitors, selector: readSelector(selector).selector };
}

/** Errors of the selector, which is ignored if all monitors are chosen. */
export function findSelectorErrors({ allMonitors, selector }: CoverageValues): FieldError[] {
  const { error } = readSelector(selector);
  return allMonitors || error === null ? [] : [{ path: 'selector', message: error }];
}

/** Maps an error in a request body, such as `selector.matchLabels.app`, to a form field. */
export function toCoverageField({ path, message }: FieldError): FieldError {
  const [field = '', ...rest] = path.split('.');
  return field === 'selector' && rest.length > 0
    ? { path: field, message: `${rest.join('.')}: ${message}` }
    : { path, message };
}
