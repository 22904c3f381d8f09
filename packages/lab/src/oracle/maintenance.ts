import { existing, iso, type MaintainedSpan } from './history.ts';
import type { FaultRecord, Check, WindowFacts } from './record.ts';

/** Maintenance ends at most this long after its window, even if all notifiers were killed and Postgres was unavailable. */
const LATE_MS = 60_000;
/** Monitors enter every window of at least this length. */
const LASTING_MS = 20_000;
/** The longest time between reading which windows run and reading the timestamp of a result. */
const DECIDED_WITHIN_MS = 500;

export const MAINTENANCE_CHECKS: readonly Check<FaultRecord>[] = [
  ['maintenance follows its windows', wrongMaintenance],
  ['maintenance follows its windows', wronglyMissedWindows],
  ['no alerts during maintenance', alertsDuringMaintenance],
];

/** An accepted window over a monitor. A window that is cut short ends between `earliestEnd` and `latestEnd`. */
interface Cover {
  readonly key: string;
  readonly isCut: boolean;
  readonly from: number;
  /** The latest time at which the API accepted it. */
  readonly knownAt: number;
  readonly earliestEnd: number;
  readonly latestEnd: number;
}

function coverOf({ key, startsAt, endsAt, plannedAt, cut }: WindowFacts): Cover {
  return {
    key,
    isCut: cut !== null,
    from: startsAt,
    knownAt: Math.max(startsAt, plannedAt),
    earliestEnd: Math.min(endsAt, cut?.from ?? Infinity),
    latestEnd: Math.min(endsAt, cut?.until ?? Infinity),
  };
}

function coversOf({ windows }: FaultRecord, key: string): Cover[] {
  return windows.filter(({ monitors }) => monitors.includes(key)).map(coverOf);
}

function isMaintainedAt(time: number): (span: MaintainedSpan) => boolean {
  return ({ enteredAt, leftAt }) => enteredAt <= time && time <= leftAt;
}

/** Returns the times in which a monitor may be in maintenance. Windows that overlap within the grace time are one span. */
function allowedSpans(covers: readonly Cover[]): { readonly from: number; readonly until: number }[] {
  const spans: { from: number; until: number }[] = [];
  for (const { from, latestEnd } of covers.toSorted((one, other) => one.from - other.from)) {
    const last = spans.at(-1);
    if (last !== undefined && from <= last.until) last.until = Math.max(last.until, latestEnd + LATE_MS);
    else spans.push({ from, until: latestEnd + LATE_MS });
  }
  return spans;
}

function wrongMaintenance(record: FaultRecord): string[] {
  return existing(record).flatMap(({ monitor, maintained }) => {
    const { key } = monitor.plan;
    const covers = coversOf(record, key);
    const allowed = allowedSpans(covers);
    const wrong = maintained.flatMap(({ enteredAt, leftAt }) => {
      const span = allowed.find(({ from, until }) => from <= enteredAt && enteredAt <= until);
      if (span === undefined) return [`entered maintenance at ${iso(enteredAt)} without a window`];
      if (leftAt === Infinity) return [`is in maintenance since ${iso(enteredAt)}`];
      if (leftAt > span.until) return [`left maintenance at ${iso(leftAt)}, after ${iso(span.until)}`];
      const running = covers.find(
        ({ knownAt, earliestEnd }) =>
          leftAt < earliestEnd && (knownAt <= enteredAt || knownAt + LASTING_MS <= leftAt),
      );
      return running === undefined ? [] : [`left maintenance at ${iso(leftAt)} while ${running.key} ran`];
    });
    const missed = covers
      .filter(({ isCut, knownAt, latestEnd }) => !isCut && latestEnd - knownAt >= LASTING_MS)
      .filter((cover) => !record.database.missedWindows.includes(cover.key))
      .filter(
        ({ knownAt, latestEnd }) =>
          !maintained.some(({ enteredAt, leftAt }) => enteredAt <= latestEnd && leftAt > knownAt),
      )
      .map((cover) => `was not in maintenance during ${cover.key}, which is not recorded as missed`);
    return [...wrong, ...missed].map((what) => `${key} ${what}`);
  });
}

/** Recording a check puts its monitor into maintenance before the result is applied, so no alert comes from within a window. */
function alertsDuringMaintenance(record: FaultRecord): string[] {
  return existing(record).flatMap(({ monitor, events, changes, maintained }) => {
    const { key } = monitor.plan;
    const covers = coversOf(record, key);
    /** Describes what must not have happened while a window certainly ran. */
    const duringWindow = (time: number, before: string, after = ''): string[] => {
      const running = covers.find(
        ({ knownAt, earliestEnd }) => knownAt + DECIDED_WITHIN_MS < time && time < earliestEnd,
      );
      return running ? [`${key} ${before} at ${iso(time)} while ${running.key} ran${after}`] : [];
    };
    const alerts = changes.filter(
      ({ to, webhookEvents }) => to !== 'MAINTENANCE' && webhookEvents.length > 0,
    );
    const unmaintained = events.filter(({ timestamp }) => !maintained.some(isMaintainedAt(timestamp)));
    const announced = alerts.flatMap(({ to, timestamp }) => duringWindow(timestamp, `is announced ${to}`));
    const checked = unmaintained.flatMap(({ timestamp }) =>
      duringWindow(timestamp, 'was checked', ', and not put into maintenance'),
    );
    return announced.concat(checked);
  });
}

function wronglyMissedWindows(record: FaultRecord): string[] {
  return record.windows
    .filter(({ key, cut }) => cut === null && record.database.missedWindows.includes(key))
    .filter((window) =>
      existing(record)
        .filter(({ monitor }) => window.monitors.includes(monitor.plan.key))
        .every(({ maintained }) => maintained.some(isMaintainedAt(window.endsAt))),
    )
    .map(({ key }) => `${key} is recorded as missed, but all of its monitors were in maintenance at its end`);
}
