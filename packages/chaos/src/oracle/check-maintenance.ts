import { changesOf, maintainedSpans } from './changes-of.ts';
import type { CampaignRecord, Violation, WindowFacts } from './record.ts';

/** Maintenance is over so long after its end, also where all notifiers were killed and Postgres was away: they need a moment to start. */
const LATE_MS = 60_000;
/** A window that lasts so long is entered. */
const LASTING_MS = 20_000;

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
  return record.monitors.flatMap((monitor) => {
    // What becomes of a window's monitor that is gone nobody can tell.
    if (monitor.deletedAt !== null) return [];
    const { key } = monitor.plan;
    const covers = record.windows.filter(({ monitors }) => monitors.includes(key)).map(coverOf);
    const spans = maintainedSpans(changesOf(record, monitor));
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
