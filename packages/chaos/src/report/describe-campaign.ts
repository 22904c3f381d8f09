import type { CampaignRecord, Violation } from '../oracle/record.ts';
import type { PlannedFault } from '../plan/plan-faults.ts';
import type { Figures } from './figures.ts';

/** Of one invariant, so many are explained; the rest is counted. */
const EXPLAINED = 8;

/** A campaign as text for a terminal. */
export function describeCampaign(
  record: CampaignRecord,
  figures: Figures,
  violations: readonly Violation[],
): string {
  return [
    `Campaign of seed ${figures.seed}, ${figures.minutes} minutes`,
    '',
    ...rows(countFaults(record)),
    '',
    ...rows(describeFigures(record, figures)),
    '',
    ...describeViolations(violations),
  ].join('\n');
}

function countFaults({ kinds, faults }: CampaignRecord): (readonly [string, string])[] {
  return kinds.map((kind) => {
    const all = faults.filter(({ name }) => name === kind);
    const fired = all.filter(({ firedAt }) => firedAt !== null).length;
    const note = all.find(({ note }) => note !== '')?.note ?? '';
    return [kind, `${fired} ×${note === '' ? '' : `  (${note})`}`];
  });
}

function describeFigures(record: CampaignRecord, figures: Figures): (readonly [string, string])[] {
  const statuses = [...record.apiStatuses]
    .sort(([one], [other]) => one - other)
    .map(([status, count]) => `${status === 0 ? 'none' : status}: ${count}`);
  return [
    ['faults fired', `${figures.faults}, ${figures.kinds} of ${figures.kindsWanted} kinds`],
    ['checks recorded', String(figures.checks)],
    ['checks of the neighbour', String(figures.neighbourChecks)],
    ['status changes', String(figures.statusChanges)],
    ['into maintenance', String(figures.maintained)],
    ['deliveries', String(figures.deliveries)],
    ['attempts', String(figures.attempts)],
    ['received again', String(figures.repeated)],
    ['undelivered at the end', String(figures.undelivered)],
    ['longest unchecked', `${(figures.longestUncheckedMs / 1_000).toFixed(1)} s after the last fault`],
    ['answers of the API', statuses.join(', ')],
    ['violations', String(figures.violations)],
  ];
}

function describeViolations(violations: readonly Violation[]): string[] {
  const invariants = [...new Set(violations.map(({ invariant }) => invariant))];
  return invariants.flatMap((invariant) => {
    const details = violations.filter((one) => one.invariant === invariant).map(({ detail }) => detail);
    const more = details.length - EXPLAINED;
    const explained = details.slice(0, EXPLAINED).map((detail) => `  ${detail}`);
    return [`VIOLATED: ${invariant}`].concat(explained, more > 0 ? [`  and ${more} more`] : []);
  });
}

/** The schedule of a campaign as text. */
export function describeSchedule(faults: readonly PlannedFault[]): string {
  return rows(
    faults.map(({ atMs, name, lastsMs, victim, offsetSeconds, write }) => [
      `${(atMs / 1_000).toFixed(1)} s`,
      [
        name.padEnd(30),
        lastsMs === 0 ? '' : `for ${(lastsMs / 1_000).toFixed(1)} s`,
        victim ?? '',
        offsetSeconds === null
          ? ''
          : `${Math.abs(offsetSeconds)} s ${offsetSeconds > 0 ? 'ahead' : 'behind'}`,
        write ?? '',
      ]
        .filter((part) => part !== '')
        .join('  '),
    ]),
  ).join('\n');
}

function rows(lines: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...lines.map(([left]) => left.length));
  return lines.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}

/** A table of campaigns in Markdown. */
export function tableOf(all: readonly Figures[]): string {
  const head = [
    'seed',
    'faults',
    'checks',
    'status changes',
    'into maintenance',
    'deliveries',
    'attempts',
    'received again',
    'longest unchecked',
    'violations',
  ];
  const lines = all.map((figures) => [
    String(figures.seed),
    `${figures.faults} of ${figures.kinds} kinds`,
    String(figures.checks),
    String(figures.statusChanges),
    String(figures.maintained),
    String(figures.deliveries),
    String(figures.attempts),
    String(figures.repeated),
    `${(figures.longestUncheckedMs / 1_000).toFixed(1)} s`,
    String(figures.violations),
  ]);
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
