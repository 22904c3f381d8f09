import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
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

/** Keeps the record, its violations and the logs of a campaign. @returns the folder */
export async function keepRecord(
  record: { readonly seed: number; readonly startedAt: number },
  violations: readonly Violation[],
  logs: string,
): Promise<string> {
  const name = violations.length > 0 ? 'failed-campaigns' : 'campaigns';
  const started = new Date(record.startedAt).toISOString().replaceAll(':', '-');
  const folder = join(resolve(process.env['DATA_DIR'] ?? '.data', name), `seed-${record.seed}-${started}`);
  await mkdir(folder, { recursive: true });
  await cp(logs, join(folder, 'logs'), { recursive: true });
  await writeFile(join(folder, 'record.json'), JSON.stringify({ violations, ...record }, entriesOfMaps, 1));
  return folder;
}

function entriesOfMaps(_: string, value: unknown): unknown {
  return value instanceof Map ? [...value] : value;
}
