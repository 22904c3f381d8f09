import { changesOf, maintainedSpans } from './changes-of.ts';
import { eventsByMonitor } from './check-events.ts';
import type { CampaignRecord, Violation, WindowFacts } from './record.ts';

/** Maintenance is over so long after its end, also where all notifiers were killed and Postgres was away: they need a moment to start. */
const LATE_MS = 60_000;
/** A window that lasts so long is entered. */
const LASTING_MS = 20_000;
/** Postgres reads which windows run, and then the stamp of a result, within this time. */
const DECIDED_WITHIN_MS = 500;

const at = (time: number): string => new Date(time).toISOString();

/** A window over a monitor, by what the API took; one that is cut short ends somewhere between two moments. */
interface Cover {
  readonly key: string;
  readonly isCut: boolean;
  readonly from: number;
  /** When the API knew of it at the latest. */
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

/** The windows over a monitor. */
function coversOf({ windows }: CampaignRecord, key: string): Cover[] {
  return windows.filter(({ monitors }) => monitors.includes(key)).map(coverOf);
}

/** The window that surely ran at this moment; undefined: none did. */
function runningAt(covers: readonly Cover[], time: number): Cover | undefined {
  return covers.find(({ knownAt, earliestEnd }) => knownAt + DECIDED_WITHIN_MS < time && time < earliestEnd);
}

/** When a monitor may be in maintenance: from the start of a window until it must be over, as one where they touch. */
function mergedSpans(covers: readonly Cover[]): { readonly from: number; readonly until: number }[] {
  const spans: { from: number; until: number }[] = [];
  for (const { from, latestEnd } of covers.toSorted((one, other) => one.from - other.from)) {
    const last = spans.at(-1);
    if (last !== undefined && from <= last.until) last.until = Math.max(last.until, latestEnd + LATE_MS);
    else spans.push({ from, until: latestEnd + LATE_MS });
  }
  return spans;
}

/** Monitors are in maintenance while one of their windows runs, and at no other time. */
export function wrongMaintenance(record: CampaignRecord): Violation[] {
  const invariant = 'maintenance is as it was planned';
  const events = eventsByMonitor(record);
  return record.monitors.flatMap((monitor) => {
    // What becomes of a window's monitor that is gone nobody can tell.
    if (monitor.deletedAt !== null) return [];
    const { key } = monitor.plan;
    const covers = coversOf(record, key);
    const spans = maintainedSpans(changesOf(record, monitor), events.get(monitor.id) ?? []);
    const allowed = mergedSpans(covers);
    const wrong = spans.flatMap(({ enteredAt, leftAt }) => {
      const within = allowed.find(({ from, until }) => from <= enteredAt && enteredAt <= until);
      if (within === undefined) return [`went into maintenance at ${at(enteredAt)} without a window`];
      if (leftAt === null) return [`is in maintenance since ${at(enteredAt)}`];
      if (leftAt > within.until)
        return [`came out of maintenance only at ${at(leftAt)}, not by ${at(within.until)}`];
      const running = covers.find(
        ({ knownAt, earliestEnd }) =>
          (knownAt <= enteredAt || knownAt + LASTING_MS <= leftAt) &&
          enteredAt < earliestEnd &&
          leftAt < earliestEnd,
      );
      return running === undefined
        ? []
        : [`came out of maintenance at ${at(leftAt)} while ${running.key} ran`];
    });
    const missed = covers
      .filter(({ isCut, knownAt, latestEnd }) => !isCut && latestEnd - knownAt >= LASTING_MS)
      .filter(({ key: window }) => !record.database.missedWindows.includes(window))
      .filter(
        ({ knownAt, latestEnd }) =>
          !spans.some(({ enteredAt, leftAt }) => enteredAt <= latestEnd && (leftAt ?? latestEnd) > knownAt),
      )
      .map((cover) => `was not in maintenance during ${cover.key}, which is not noted as missed`);
    return [...wrong, ...missed].map((what) => ({ invariant, detail: `${key} ${what}` }));
  });
}

/**
 * No alert comes from within a window, whatever became of those who begin windows: recording a check puts its monitor into maintenance
 * before the result is applied.
 */
export function alertsDuringMaintenance(record: CampaignRecord): Violation[] {
  const invariant = 'nobody is alerted during maintenance';
  const events = eventsByMonitor(record);
  return record.monitors.flatMap((monitor) => {
    if (monitor.deletedAt !== null) return [];
    const { key } = monitor.plan;
    const covers = coversOf(record, key);
    const changes = changesOf(record, monitor);
    const own = events.get(monitor.id) ?? [];
    const spans = maintainedSpans(changes, own);
    const alerts = changes
      .filter(({ to, webhookEvents }) => to !== 'MAINTENANCE' && webhookEvents.length > 0)
      .flatMap(({ to, timestamp }) => {
        const running = runningAt(covers, timestamp);
        return running === undefined
          ? []
          : [`is announced ${to} at ${at(timestamp)} while ${running.key} ran`];
      });
    const checked = own.flatMap(({ timestamp }) => {
      const running = runningAt(covers, timestamp);
      const isCovered = spans.some(
        ({ enteredAt, leftAt }) => enteredAt <= timestamp && timestamp <= (leftAt ?? Infinity),
      );
      return running === undefined || isCovered
        ? []
        : [`was checked at ${at(timestamp)} while ${running.key} ran, and was not put into maintenance`];
    });
    return [...alerts, ...checked].map((what) => ({ invariant, detail: `${key} ${what}` }));
  });
}

/** A window is noted as missed only where one of its monitors was not in maintenance when it ended. */
export function wronglyMissedWindows(record: CampaignRecord): Violation[] {
  const events = eventsByMonitor(record);
  return record.windows
    .filter(({ key, cut }) => cut === null && record.database.missedWindows.includes(key))
    .filter((window) => {
      const { earliestEnd } = coverOf(window);
      const left = record.monitors.filter(
        ({ plan, deletedAt }) => deletedAt === null && window.monitors.includes(plan.key),
      );
      return left.every((monitor) =>
        maintainedSpans(changesOf(record, monitor), events.get(monitor.id) ?? []).some(
          ({ enteredAt, leftAt }) => enteredAt <= earliestEnd && (leftAt ?? Infinity) >= earliestEnd,
        ),
      );
    })
    .map(({ key }) => ({
      invariant: 'maintenance is as it was planned',
      detail: `${key} is noted as missed, and all of its monitors were in maintenance when it ended`,
    }));
}
