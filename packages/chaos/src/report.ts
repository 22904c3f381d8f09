import { groupBy } from './oracle/history.ts';
import type { Violation } from './oracle/record.ts';

/** How many violations of one invariant are shown; the others are counted. */
const SHOWN = 8;

/** The violations as text, by invariant. */
export function describeViolations(violations: readonly Violation[]): string[] {
  return [...groupBy(violations, ({ invariant }) => invariant)].map(([invariant, all]) => {
    const shown = all.slice(0, SHOWN).map(({ detail }) => `  ${detail}`);
    const more = all.length > SHOWN ? [`  and ${all.length - SHOWN} more`] : [];
    return [`VIOLATED: ${invariant}`, ...shown, ...more].join('\n');
  });
}

export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '--'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

export function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
