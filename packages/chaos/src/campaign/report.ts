import { alignRows } from '@tocsin/lab/options';
import type { PlannedFault } from '../faults/fault.ts';
import { uncheckedSpans } from '../oracle/checks.ts';
import { groupBy } from '../oracle/history.ts';
import type { CampaignRecord, Violation } from '../oracle/record.ts';

/** How many violations of one invariant are shown; the others are counted. */
const SHOWN = 8;

/** A campaign in numbers. */
export interface Figures {
  readonly seed: number;
  readonly minutes: number;
  readonly faults: number;
  readonly kinds: number;
  readonly kindsWanted: number;
  readonly checks: number;
  /** Of the neighbour, without the results that Postgres refused. */
  readonly neighbourChecks: number;
  readonly statusChanges: number;
  /** Times that a monitor entered maintenance. */
  readonly maintained: number;
  readonly deliveries: number;
  readonly attempts: number;
  /** Webhooks that were received more than once. */
  readonly repeated: number;
  /** At the end, before redeliveries by hand. */
  readonly undelivered: number;
  readonly longestUncheckedMs: number;
  readonly apiRequests: number;
  /** Requests to the API with a status from 500 on, or without a response. */
  readonly apiFailures: number;
  readonly violations: number;
}

export function figuresOf(record: CampaignRecord, violations: readonly Violation[]): Figures {
  const { database, receipts, faults, apiStatuses } = record;
  const fired = faults.filter(({ firedAt }) => firedAt !== null);
  const statuses = [...apiStatuses];
  return {
    seed: record.seed,
    minutes: record.minutes,
    faults: fired.length,
    kinds: new Set(fired.map(({ name }) => name)).size,
    kindsWanted: record.kinds.length,
    checks: database.events.length,
    neighbourChecks: sum(record.neighbour.map(({ eventStamps }) => eventStamps.length)),
    statusChanges: database.statusChanges.length,
    maintained: database.statusChanges.filter(({ to }) => to === 'MAINTENANCE').length,
    deliveries: database.deliveries.length,
    attempts: sum(database.deliveries.map(({ attempts }) => attempts)),
    repeated: receipts.length - new Set(receipts.map(({ id }) => id)).size,
    undelivered: record.undelivered.stored.length,
    longestUncheckedMs: Math.max(...uncheckedSpans(record).map(({ ms }) => ms)),
    apiRequests: sum(statuses.map(([, count]) => count)),
    apiFailures: sum(statuses.filter(([status]) => status === 0 || status >= 500).map(([, count]) => count)),
    violations: violations.length,
  };
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

/** A campaign as text for a terminal. */
export function describeCampaign(
  { kinds, faults, apiStatuses }: CampaignRecord,
  figures: Figures,
  violations: readonly Violation[],
): string {
  const fired = kinds.map((kind) => {
    const all = faults.filter(({ name }) => name === kind);
    const note = all.find(({ note }) => note !== '')?.note;
    const count = all.filter(({ firedAt }) => firedAt !== null).length;
    return [kind, `${count} ×${note === undefined ? '' : `  (${note})`}`];
  });
  const statuses = [...apiStatuses]
    .sort(([one], [other]) => one - other)
    .map(([status, count]) => `${status === 0 ? 'none' : status}: ${count}`);
  return [
    `Campaign of seed ${figures.seed}, ${figures.minutes} minutes`,
    alignRows(fired),
    alignRows([
      ...COLUMNS.map(([name, valueOf]) => [name, valueOf(figures)]),
      ['checks of the neighbour', String(figures.neighbourChecks)],
      ['undelivered at the end', String(figures.undelivered)],
      ['responses of the API', statuses.join(', ')],
    ]),
    ...describeViolations(violations),
  ].join('\n\n');
}

/** The violations as text, by invariant. */
export function describeViolations(violations: readonly Violation[]): string[] {
  return [...groupBy(violations, ({ invariant }) => invariant)].map(([invariant, all]) => {
    const shown = all.slice(0, SHOWN).map(({ detail }) => `  ${detail}`);
    const more = all.length > SHOWN ? [`  and ${all.length - SHOWN} more`] : [];
    return [`VIOLATED: ${invariant}`, ...shown, ...more].join('\n');
  });
}

/** The schedule of a campaign as text. */
export function describeSchedule(faults: readonly PlannedFault[]): string {
  return alignRows(
    faults.map(({ atMs, name, lastsMs, victim, offsetSeconds, write }) => {
      const offset = `${Math.abs(offsetSeconds ?? 0)} s ${(offsetSeconds ?? 0) > 0 ? 'ahead' : 'behind'}`;
      const details = [victim ?? '', offsetSeconds === null ? '' : offset, write ?? ''];
      const lasts = lastsMs === 0 ? '' : `for ${(lastsMs / 1_000).toFixed(1)} s`;
      return [
        `${(atMs / 1_000).toFixed(1)} s`,
        name,
        [lasts, ...details].filter((part) => part !== '').join('  '),
      ];
    }),
  );
}

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

/** A table of campaigns in Markdown. */
export function tableOf(all: readonly Figures[]): string {
  return markdownTable(
    ['seed', ...COLUMNS.map(([name]) => name)],
    all.map((figures) => [String(figures.seed), ...COLUMNS.map(([, valueOf]) => valueOf(figures))]),
  );
}

export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '--'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
