import { writeFile } from 'node:fs/promises';
import { say } from '@tocsin/lab/command';
import { describeViolations, markdownTable } from '../campaign/report.ts';
import { lostDeliveries, repeatedReceipts } from '../oracle/deliveries.ts';
import type { Violation } from '../oracle/record.ts';
import type { LoadRecord } from './load-record.ts';

export interface LoadReport {
  readonly record: LoadRecord;
  readonly violations: readonly Violation[];
  /** In Markdown. */
  readonly table: string;
  /** Further content of the JSON file. */
  readonly more?: object;
  /** Printed if there are no violations. */
  readonly verdict: string;
}

/** Prints a run under load. @param json a file; null: none @returns the exit code */
export async function reportLoad(
  { record, violations, table, more, verdict }: LoadReport,
  json: string | null,
): Promise<number> {
  if (json !== null) {
    // Without the evidence, which is as large as the load.
    const { seed, seconds, slots, misses, stops, api, stream, logs, stalls } = record;
    const summary = { seed, seconds, violations, slots, misses, stops, api, stream, logs, stalls, ...more };
    await writeFile(json, `${JSON.stringify(summary, null, 2)}\n`);
  }
  say(`\n${table}\n\n${markdownTable(['what', 'count'], totalsOf(record))}\n`);
  for (const text of describeViolations(violations)) say(text);
  if (violations.length === 0) say(verdict);
  return violations.length === 0 ? 0 : 1;
}

/** Names and counts of what was recorded. */
export function totalsOf(record: LoadRecord): [what: string, counts: string][] {
  const { slots, database, receipts, failedAttempts, api, stream, logs, stalls } = record;
  const events = [...record.eventCounts.values()].reduce((sum, { all }) => sum + all, 0);
  const changes = database.statusChanges.filter(({ webhookEvents }) => webhookEvents.length > 0);
  const counts: Record<string, readonly number[]> = {
    'seconds under load': [Math.round(record.seconds)],
    'planned checks, missed, repeated': [
      slots.planned,
      slots.planned - slots.checked,
      slots.events - slots.checked,
    ],
    'events; status changes announced': [events, changes.length],
    'webhooks due, received, received again, lost; failed attempts': [
      database.deliveries.length,
      receipts.length,
      repeatedReceipts(record).length,
      lostDeliveries(record).length,
      failedAttempts.length,
    ],
    'API responses; broken calls; unexpected statuses': [
      api.responses,
      api.broken.length,
      api.unexpected.length,
    ],
    'connections refused; reset before they were accepted': [api.refused, api.notAccepted],
    'live streams opened, refused with 503, broken; records, missing events': [
      stream.opened,
      stream.unavailable,
      stream.broken,
      stream.records,
      record.notStreamed.length,
    ],
    'log lines: errors, warnings': [logs.errors.length, logs.warnings.length],
    ...(stalls && {
      'queue events seen, unseen; stalled jobs': [stalls.seen, stalls.unseen, stalls.stalled.length],
    }),
  };
  return Object.entries(counts).map(([what, all]) => [
    what,
    all.map((count) => count.toLocaleString('en-US')).join(', '),
  ]);
}
