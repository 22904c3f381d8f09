import type { Channel } from '@tocsin/contracts/channels/channel';
import type { FieldError } from '@tocsin/contracts/errors';
import type { Labels } from '@tocsin/contracts/labels/labels';
import type { Selector } from '@tocsin/contracts/labels/selector';
import { formatSelector, matchesSelector } from '@tocsin/contracts/labels/selector-syntax';
import { isSourceAllowed } from '@tocsin/contracts/labels/sources';
import { formatCount } from '../components/format.ts';
import { readSelector } from './selector-text.ts';

/** The monitors of a channel or a maintenance window: those it lists, and those that its selector matches. */
export type Coverage = Pick<Channel, 'monitorIds' | 'allMonitors' | 'selector'> & {
  /** Limits what is not listed to monitors of these sources. Null or absent: of any. */
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

/** The covered ones of these monitors, in their order. */
export function listCovered<One extends LabeledMonitor>(
  coverage: Coverage,
  monitors: readonly One[],
): readonly One[] {
  const listed = new Set(coverage.monitorIds);
  return monitors.filter((monitor) => listed.has(monitor.id) || isMatched(coverage, monitor));
}

/** Formats as `All monitors`, `3 monitors` or `No monitors yet`. @param monitors all of the account; undefined while they load */
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

/** The coverage as a form edits it. */
export type CoverageValues = {
  readonly monitorIds: readonly string[];
  readonly allMonitors: boolean;
  /** In kubectl's syntax; blank for none. */
  readonly selector: string;
};

/** A selector without conditions matches every monitor. The form shows it as "All monitors". */
export function toCoverageValues({ monitorIds, allMonitors, selector }: Coverage): CoverageValues {
  const text = selector === null ? '' : formatSelector(selector);
  return { monitorIds, allMonitors: allMonitors || (selector !== null && text === ''), selector: text };
}

/** The fields of a request body. The selector is null if it is invalid: `findSelectorErrors` says why. */
export function toCoverage({ monitorIds, allMonitors, selector }: CoverageValues): {
  monitorIds: string[];
  allMonitors: boolean;
  selector: Selector | null;
} {
  return { monitorIds: [...monitorIds], allMonitors, selector: readSelector(selector).selector };
}

/** The errors of the selector, unless all monitors are chosen. */
export function findSelectorErrors({ allMonitors, selector }: CoverageValues): FieldError[] {
  const { error } = readSelector(selector);
  return allMonitors || error === null ? [] : [{ path: 'selector', message: error }];
}

/** Maps an error of a request body, such as `selector.matchLabels.app`, to its field in the form. */
export function toCoverageField({ path, message }: FieldError): FieldError {
  const [field = '', ...rest] = path.split('.');
  return field === 'selector' && rest.length > 0
    ? { path: field, message: `${rest.join('.')}: ${message}` }
    : { path, message };
}
