import { historiesOf, iso, isWithin, overlaps, type History } from './history.ts';
import type { Evidence, MonitorFacts, Span } from './record.ts';

/** Consecutive responses that all pass or all fail. */
interface Stretch extends Span {
  readonly status: 'UP' | 'DOWN';
  readonly count: number;
  /** Start of the next stretch of the same kind. */
  readonly nextAt: number;
}

/** A stretch needs this many responses beyond the threshold, because faults may destroy some results. */
const SPARE_RESPONSES = 3;
/** A shorter stretch is not evaluated, because checks that are repeated after a fault could fill it. */
const MIN_STRETCH_MS = 8_000;
/** A result may be recorded this late, because it may wait for a frozen checker or for Postgres. */
const SHOWN_WITHIN_MS = 30_000;
/** Responses this close to the deletion of a monitor are ignored, because their results may not be recorded in time. */
const LAST_RESULTS_MS = 15_000;

/**
 * A lasting response must show in the status of a monitor with one region, and in the events of other monitors. The targets' log is the
 * reference, because a dropped result leaves nothing in the tables.
 */
export function ignoredResponses(evidence: Evidence): string[] {
  return historiesOf(evidence).flatMap((history) =>
    stretchesOf(history)
      .filter((stretch) => isLong(history.monitor, stretch) && !isShown(history, stretch))
      .map(({ status, count, from, until }) => {
        const span = `from ${iso(from)} to ${iso(until)}`;
        return `${history.monitor.plan.key}: ${count} responses that mean ${status}, ${span}, show nowhere`;
      }),
  );
}

function stretchesOf({ monitor: { deletedAt }, visits }: History): Stretch[] {
  const end = (deletedAt ?? Infinity) - LAST_RESULTS_MS;
  const runs: { status: Stretch['status']; count: number; from: number; until: number }[] = [];
  for (const { at, state } of visits.toSorted((one, other) => one.at - other.at)) {
    if (at >= end) break;
    const [run, status] = [runs.at(-1), state === 'up' ? ('UP' as const) : ('DOWN' as const)];
    if (run?.status === status) Object.assign(run, { count: run.count + 1, until: at });
    else runs.push({ status, count: 1, from: at, until: at });
  }
  return runs.map((run, index) => Object.assign(run, { nextAt: runs[index + 2]?.from ?? Infinity }));
}

function isLong({ plan, thresholds }: MonitorFacts, { status, count, from, until }: Stretch): boolean {
  const threshold = Math.max(plan.failureThreshold, ...thresholds.map(({ value }) => value));
  const deciding = status === 'DOWN' ? threshold : plan.recoveryThreshold;
  return count >= deciding + SPARE_RESPONSES && until - from >= MIN_STRETCH_MS;
}

function isShown({ monitor, events, changes, maintained }: History, stretch: Stretch): boolean {
  const { status, from, until, nextAt } = stretch;
  const shown = { from, until: Math.min(until + SHOWN_WITHIN_MS, nextAt) };
  const isInEvents = events.some(
    (event) => event.status === status && !event.inconclusive && isWithin(event.timestamp, shown),
  );
  // Changing the URL resets the streaks, and the events of a deleted monitor are deleted with it.
  const needsEvents = monitor.plan.regions.length > 1 || monitor.plan.fate === 'moved';
  if (needsEvents) return isInEvents || monitor.deletedAt !== null;
  const before = changes.findLast(({ timestamp }) => timestamp < from)?.to;
  const isCovered = maintained.some((span) => overlaps(span, { from, until: nextAt }));
  return (
    before === status ||
    changes.some(({ to, timestamp }) => to === status && isWithin(timestamp, shown)) ||
    (isCovered && isInEvents)
  );
}
