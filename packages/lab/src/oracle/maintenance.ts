import { existing, iso, isWithin } from './history.ts';
import type { Check, FaultRecord, Span } from './record.ts';

/** Maintenance may last this much longer than its window, because all notifiers may be killed and Postgres unavailable. */
const LATE_MS = 60_000;
/** A window shorter than this may end before its monitors enter maintenance. */
const LASTING_MS = 20_000;
/** The timestamp of a result may be read this long after the running windows were read. */
const DECIDED_WITHIN_MS = 500;

export const MAINTENANCE_CHECKS: readonly Check<FaultRecord>[] = [
  ['maintenance follows its windows', wrongMaintenance],
  ['maintenance follows its windows', wronglyMissedWindows],
  ['no alerts during maintenance', alertsDuringMaintenance],
];

/** An accepted window that covers a monitor. A window that is cut short ends between `earliestEnd` and `until`. */
interface Cover extends Span {
  readonly key: string;
  readonly isCut: boolean;
  /** The API accepted the window no later than this. */
  readonly knownAt: number;
  readonly earliestEnd: number;
}

function coversOf({ windows }: FaultRecord, monitorKey: string): Cover[] {
  return windows
    .filter(({ monitors }) => monitors.includes(monitorKey))
    .map(({ key, startsAt, endsAt, plannedAt, cut }) => ({
      key,
      isCut: cut !== null,
      from: startsAt,
      until: Math.min(endsAt, cut?.until ?? Infinity),
      knownAt: Math.max(startsAt, plannedAt),
      earliestEnd: Math.min(endsAt, cut?.from ?? Infinity),
    }));
}

/** Returns the times in which a monitor may be in maintenance. Windows that overlap within the grace time are one span. */
function allowedSpans(covers: readonly Cover[]): Span[] {
  const spans: { from: number; until: number }[] = [];
  for (const { from, until } of covers.toSorted((one, other) => one.from - other.from)) {
    const last = spans.at(-1);
    if (last !== undefined && from <= last.until) last.until = Math.max(last.until, until + LATE_MS);
    else spans.push({ from, until: until + LATE_MS });
  }
  return spans;
}

function wrongMaintenance(record: FaultRecord): string[] {
  return existing(record).flatMap(({ monitor, maintained }) => {
    const { key } = monitor.plan;
    const covers = coversOf(record, key);
    const allowed = allowedSpans(covers);
    const wrong = maintained.flatMap(({ from, until }) => {
      const span = allowed.find((one) => isWithin(from, one));
      if (span === undefined) return [`entered maintenance at ${iso(from)} without a window`];
      if (until === Infinity) return [`is in maintenance since ${iso(from)}`];
      if (until > span.until) return [`left maintenance at ${iso(until)}, after ${iso(span.until)}`];
      const running = covers.find(
        ({ knownAt, earliestEnd }) =>
          until < earliestEnd && (knownAt <= from || knownAt + LASTING_MS <= until),
      );
      return running === undefined ? [] : [`left maintenance at ${iso(until)} while ${running.key} ran`];
    });
    const missed = covers
      .filter(({ isCut, knownAt, until }) => !isCut && until - knownAt >= LASTING_MS)
      .filter((cover) => !record.database.missedWindows.includes(cover.key))
      .filter(({ knownAt, until }) => !maintained.some((one) => one.from <= until && one.until > knownAt))
      .map((cover) => `was not in maintenance during ${cover.key}, which is not recorded as missed`);
    return [...wrong, ...missed].map((what) => `${key} ${what}`);
  });
}

/** Recording a check puts its monitor into maintenance before the result is applied, so no alert comes from within a window. */
function alertsDuringMaintenance(record: FaultRecord): string[] {
  return existing(record).flatMap(({ monitor, events, changes, maintained }) => {
    const { key } = monitor.plan;
    const covers = coversOf(record, key);
    const alerts = changes
      .filter(({ to, webhookEvents }) => to !== 'MAINTENANCE' && webhookEvents.length > 0)
      .map(({ to, timestamp }) => ({ timestamp, what: `is announced ${to}` }));
    const checks = events
      .filter(({ timestamp }) => !maintained.some((span) => isWithin(timestamp, span)))
      .map(({ timestamp }) => ({ timestamp, what: 'was checked without maintenance' }));
    return [...alerts, ...checks].flatMap(({ timestamp, what }) => {
      const running = covers.find(
        ({ knownAt, earliestEnd }) => knownAt + DECIDED_WITHIN_MS < timestamp && timestamp < earliestEnd,
      );
      return running === undefined ? [] : [`${key} ${what} at ${iso(timestamp)} while ${running.key} ran`];
    });
  });
}

function wronglyMissedWindows(record: FaultRecord): string[] {
  return record.windows
    .filter(({ key, cut }) => cut === null && record.database.missedWindows.includes(key))
    .filter(({ monitors, endsAt }) =>
      existing(record)
        .filter(({ monitor }) => monitors.includes(monitor.plan.key))
        .every(({ maintained }) => maintained.some((span) => isWithin(endsAt, span))),
    )
    .map(({ key }) => `${key} is recorded as missed, but all of its monitors were in maintenance at its end`);
}
