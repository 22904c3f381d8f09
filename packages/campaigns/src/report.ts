import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { distributionOf } from '@tocsin/bench/measure/percentiles';
import { say } from '@tocsin/lab/command';
import { repeatedReceipts } from '@tocsin/lab/oracle/deliveries';
import { findViolations } from '@tocsin/lab/oracle/find-violations';
import { groupBy } from '@tocsin/lab/oracle/history';
import type { RunRecord, Violation } from '@tocsin/lab/oracle/record';

/** Show at most this many violations per invariant, and count the others. */
const SHOWN = 8;

export type Row = readonly [what: string, ...values: (string | number)[]];

interface Run {
  readonly record: RunRecord;
  readonly logs: string;
  /** Results in addition to those that every run has. */
  readonly rows: readonly Row[];
  readonly keep: boolean;
  /** What to type after `npm run test:campaigns --` to run it again. */
  readonly command: string;
}

/** Evaluates a run, and prints its results and violations. @returns the exit code */
export async function conclude({ record, logs, rows, keep, command }: Run): Promise<number> {
  const violations = findViolations(record);
  const { database } = record;
  const announced = database.statusChanges.filter(({ webhookEvents }) => webhookEvents.length > 0);
  const all: Row[] = [
    ['minutes', ((record.endedAt - record.startedAt) / 60_000).toFixed(1)],
    [
      'monitors; checks; status changes announced',
      record.monitors.length,
      database.events.length,
      announced.length,
    ],
    ['webhooks due; received again', database.deliveries.length, repeatedReceipts(record).length],
    ...rows,
    ['violations', violations.length],
  ];
  say(`\n${markdownTable(all)}\n`);
  if (violations.length > 0 || keep) say(`Logs and record: ${await keepRecord(record, violations, logs)}`);
  if (violations.length === 0) return 0;
  for (const [invariant, found] of groupBy(violations, (one) => one.invariant)) {
    say(`VIOLATED: ${invariant}`);
    for (const { detail } of found.slice(0, SHOWN)) say(`  ${detail}`);
    if (found.length > SHOWN) say(`  and ${found.length - SHOWN} more`);
  }
  say(`To repeat it: npm run test:campaigns -- ${command}`);
  return 1;
}

function markdownTable(rows: readonly Row[]): string {
  const lines = rows.map(([what, ...values]) => {
    const texts = values.map((value) => (typeof value === 'number' ? value.toLocaleString('en-US') : value));
    return `| ${what} | ${texts.join('; ')} |`;
  });
  return ['| what | value |', '| -- | -- |', ...lines].join('\n');
}

export function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

/** Returns percentiles in seconds. @param ms milliseconds */
export function describeTimes(ms: readonly number[]): string {
  const { p50, p99, max } = distributionOf(ms);
  const [middle, high, highest] = [p50, p99, max].map((value) => (value / 1_000).toFixed(1));
  return ms.length === 0 ? 'none' : `p50 ${middle}, p99 ${high}, max ${highest} s`;
}

/** Keeps the record, its violations and the logs. @returns the folder */
async function keepRecord(
  record: RunRecord,
  violations: readonly Violation[],
  logs: string,
): Promise<string> {
  const name = violations.length > 0 ? 'failed-campaigns' : 'campaigns';
  const started = new Date(record.startedAt).toISOString().replaceAll(':', '-');
  const folder = join(resolve(process.env['DATA_DIR'] ?? '.data', name), `seed-${record.seed}-${started}`);
  await mkdir(folder, { recursive: true });
  await cp(logs, join(folder, 'logs'), { recursive: true });
  const content = { violations, ...record };
  await writeFile(
    join(folder, 'record.json'),
    JSON.stringify(content, (_, value: unknown) => (value instanceof Map ? [...value] : value), 1),
  );
  return folder;
}
