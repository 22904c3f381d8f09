import { historiesOf, iso, type History } from './history.ts';
import type { Evidence, MonitorFacts } from './record.ts';

/** Consecutive responses of one kind: every failure is the same kind. */
interface Stretch {
  readonly status: 'UP' | 'DOWN';
  readonly count: number;
  readonly from: number;
  readonly to: number;
  /** When the next stretch of its kind begins. */
  readonly nextAt: number;
}

/** Faults may destroy results, such as those of a killed checker: a stretch needs this many responses beyond those that decide. */
const SPARE_RESPONSES = 3;
/** A check that is repeated after a fault proves no more than the first one. */
const MIN_STRETCH_MS = 8_000;
/** Results that waited for a frozen checker or for Postgres are recorded by then. */
const SHOWN_WITHIN_MS = 30_000;
/** The last results before a deletion may wait this long, and are then deleted too. */
const LAST_RESULTS_MS = 15_000;

/**
 * A lasting response of a target shows in the status of its monitor if one region decides, otherwise in its events. This reads the
 * targets' own log, because a result that was dropped leaves nothing in the tables.
 */
export function ignoredResponses(evidence: Evidence): string[] {
  return historiesOf(evidence).flatMap((history) =>
    stretchesOf(history)
      .filter((stretch) => isLong(history.monitor, stretch) && !isShown(history, stretch))
      .map(({ status, count, from, to }) => {
        const span = `from ${iso(from)} to ${iso(to)}`;
        return `${history.monitor.plan.key}: ${count} responses that mean ${status}, ${span}, show nowhere`;
      }),
  );
}

function stretchesOf({ monitor: { deletedAt }, visits }: History): Stretch[] {
  const until = deletedAt === null ? Infinity : deletedAt - LAST_RESULTS_MS;
  const runs: { status: Stretch['status']; times: number[] }[] = [];
  for (const { at, state } of visits.toSorted((one, other) => one.at - other.at)) {
    if (at >= until) continue;
    const [run, status] = [runs.at(-1), state === 'up' ? ('UP' as const) : ('DOWN' as const)];
    if (run?.status === status) run.times.push(at);
    else runs.push({ status, times: [at] });
  }
  return runs.map(({ status, times }, index) => ({
    status,
    count: times.length,
    from: times[0] ?? 0,
    to: times.at(-1) ?? 0,
    nextAt: runs[index + 2]?.times[0] ?? Infinity,
  }));
}

function isLong({ plan, thresholds }: MonitorFacts, { status, count, from, to }: Stretch): boolean {
  const threshold = Math.max(plan.failureThreshold, ...thresholds.map(({ value }) => value));
  const deciding = status === 'DOWN' ? threshold : plan.recoveryThreshold;
  return count >= deciding + SPARE_RESPONSES && to - from >= MIN_STRETCH_MS;
}

function isShown({ monitor, events, changes, maintained }: History, stretch: Stretch): boolean {
  const { status, from, to, nextAt } = stretch;
  const isWithin = ({ timestamp }: { readonly timestamp: number }): boolean =>
    timestamp >= from && timestamp <= Math.min(to + SHOWN_WITHIN_MS, nextAt);
  const isInEvents = events.some(
    (event) => event.status === status && !event.inconclusive && isWithin(event),
  );
  // An edit of the URL resets the streaks. The events of a deleted monitor are deleted with it.
  const needsEvents = monitor.plan.regions.length > 1 || monitor.plan.fate === 'moved';
  if (needsEvents) return isInEvents || monitor.deletedAt !== null;
  const before = changes.findLast(({ timestamp }) => timestamp < from)?.to ?? monitor.initialStatus;
  const isCovered = maintained.some(({ enteredAt, leftAt }) => enteredAt <= nextAt && leftAt >= from);
  return (
    before === status ||
    changes.some((change) => change.to === status && isWithin(change)) ||
    (isCovered && isInEvents)
  );
}
