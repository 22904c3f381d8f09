import { alignRows } from '@tocsin/lab/options';
import type { PlannedFault } from '../faults/fault.ts';
import { uncheckedSpans } from '../oracle/checks.ts';
import type { CampaignRecord, FiredFault, Violation } from '../oracle/record.ts';
import { describeViolations, markdownTable, sum } from '../report.ts';

const FIGURES = {
  seed: ({ seed }) => seed,
  minutes: ({ minutes }) => minutes,
  faults: ({ faults }) => fired(faults).length,
  kinds: ({ faults }) => new Set(fired(faults).map(({ name }) => name)).size,
  kindsWanted: ({ kinds }) => kinds.length,
  checks: ({ database }) => database.events.length,
  /** Checks of the neighbor, without the results that Postgres refused. */
  neighborChecks: ({ neighbor }) => sum(neighbor.map(({ eventTimestamps }) => eventTimestamps.length)),
  statusChanges: ({ database }) => database.statusChanges.length,
  /** Times that a monitor entered maintenance. */
  maintained: ({ database }) => database.statusChanges.filter(({ to }) => to === 'MAINTENANCE').length,
  deliveries: ({ database }) => database.deliveries.length,
  attempts: ({ database }) => sum(database.deliveries.map(({ attempts }) => attempts)),
  /** Webhooks that were received more than once. */
  repeated: ({ receipts }) => receipts.length - new Set(receipts.map(({ id }) => id)).size,
  /** At the end, before redeliveries by hand. */
  undelivered: ({ undelivered }) => undelivered.stored.length,
  longestUncheckedMs: (record) => Math.max(...uncheckedSpans(record).map(({ ms }) => ms)),
  apiRequests: ({ apiStatuses }) => sum([...apiStatuses.values()]),
  /** Requests to the API with a status from 500 on, or without a response. */
  apiFailures: ({ apiStatuses }) =>
    sum([...apiStatuses].filter(([status]) => status === 0 || status >= 500).map(([, count]) => count)),
  violations: (_, violations) => violations.length,
} satisfies Record<string, (record: CampaignRecord, violations: readonly Violation[]) => number>;

/** A campaign in numbers. */
export type Figures = Readonly<Record<keyof typeof FIGURES, number>>;

const COLUMNS: readonly (readonly [name: string, valueOf: (figures: Figures) => string])[] = [
  ['faults', ({ faults, kinds, kindsWanted }) => `${faults}, ${kinds} of ${kindsWanted} kinds`],
  ['checks', ({ checks }) => String(checks)],
  ['status changes', ({ statusChanges }) => String(statusChanges)],
  ['into maintenance', ({ maintained }) => String(maintained)],
  ['deliveries', ({ deliveries }) => String(deliveries)],
  ['attempts', ({ attempts }) => String(attempts)],
  ['received again', ({ repeated }) => String(repeated)],
  ['longest unchecked', ({ longestUncheckedMs }) => `${(longestUncheckedMs / 1_000).toFixed(1)} s`],
  ['violations', ({ violations }) => String(violations)],
];

export function figuresOf(record: CampaignRecord, violations: readonly Violation[]): Figures {
  const figures = Object.entries(FIGURES).map(([name, valueOf]) => [name, valueOf(record, violations)]);
  return Object.fromEntries(figures) as Figures;
}

function fired(faults: readonly FiredFault[]): FiredFault[] {
  return faults.filter(({ firedAt }) => firedAt !== null);
}

/** A campaign as text for a terminal. */
export function describeCampaign(
  { kinds, faults, apiStatuses }: CampaignRecord,
  figures: Figures,
  violations: readonly Violation[],
): string {
  const counts = kinds.map((kind) => {
    const all = faults.filter(({ name }) => name === kind);
    const note = all.find(({ note }) => note !== '')?.note;
    return [kind, `${fired(all).length} ×${note === undefined ? '' : `  (${note})`}`];
  });
  const statuses = [...apiStatuses]
    .sort(([one], [other]) => one - other)
    .map(([status, count]) => `${status === 0 ? 'none' : status}: ${count}`);
  return [
    `Campaign of seed ${figures.seed}, ${figures.minutes} minutes`,
    alignRows(counts),
    alignRows([
      ...COLUMNS.map(([name, valueOf]) => [name, valueOf(figures)]),
      ['checks of the neighbor', String(figures.neighborChecks)],
      ['undelivered at the end', String(figures.undelivered)],
      ['responses of the API', statuses.join(', ')],
    ]),
    ...describeViolations(violations),
  ].join('\n\n');
}

/** The schedule of a campaign as text. */
export function describeSchedule(faults: readonly PlannedFault[]): string {
  return alignRows(
    faults.map(({ atMs, name, lastsMs, victim, offsetSeconds, write }) => {
      const offset = `${Math.abs(offsetSeconds ?? 0)} s ${(offsetSeconds ?? 0) > 0 ? 'ahead' : 'behind'}`;
      const lasts = lastsMs === 0 ? null : `for ${(lastsMs / 1_000).toFixed(1)} s`;
      const details = [lasts, victim, offsetSeconds === null ? null : offset, write];
      return [`${(atMs / 1_000).toFixed(1)} s`, name, details.filter((part) => part !== null).join('  ')];
    }),
  );
}

/** A table of campaigns in Markdown. */
export function tableOf(all: readonly Figures[]): string {
  return markdownTable(
    ['seed', ...COLUMNS.map(([name]) => name)],
    all.map((figures) => [String(figures.seed), ...COLUMNS.map(([, valueOf]) => valueOf(figures))]),
  );
}
