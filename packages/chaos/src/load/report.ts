import { writeFile } from 'node:fs/promises';
import { say } from '@tocsin/lab/command';
import { lostDeliveries, repeatedReceipts } from '../oracle/deliveries.ts';
import type { Violation } from '../oracle/record.ts';
import { describeViolations, markdownTable, sum } from '../report.ts';
import { findLoadViolations, type LoadRecord } from './load-record.ts';

export interface LoadReport {
  /** Violations besides those of the load. */
  readonly violations?: readonly Violation[];
  /** In Markdown. */
  readonly table: string;
  /** Further content of the JSON file. */
  readonly more?: object;
  /** Printed if there are no violations. */
  readonly verdict: string;
  /** A file for the result; null: none. */
  readonly json: string | null;
}

/** Prints a run under load. @returns the exit code */
export async function reportLoad(record: LoadRecord, report: LoadReport): Promise<number> {
  const violations = [...(report.violations ?? []), ...findLoadViolations(record)];
  if (report.json !== null) {
    // Without the evidence, which is as large as the load.
    const { seed, seconds, slots, misses, stops, api, stream, logs, stalls } = record;
    const summary = { seed, seconds, violations, slots, misses, stops, api, stream, logs, stalls };
    await writeFile(report.json, `${JSON.stringify({ ...summary, ...report.more }, null, 2)}\n`);
  }
  say(`\n${report.table}\n\n${markdownTable(['what', 'count'], totalsOf(record))}\n`);
  for (const text of describeViolations(violations)) say(text);
  if (violations.length === 0) say(report.verdict);
  return violations.length === 0 ? 0 : 1;
}

/** Names and counts of what was recorded. */
export function totalsOf(record: LoadRecord): [what: string, counts: string][] {
  const { slots, database, receipts, failedAttempts, api, stream, logs, stalls, notStreamed } = record;
  const events = sum([...record.eventCounts.values()].map(({ all }) => all));
  const changes = database.statusChanges.filter(({ webhookEvents }) => webhookEvents.length > 0);
  const missed = slots.planned - slots.checked;
  const [repeated, lost] = [repeatedReceipts(record), lostDeliveries(record)];
  const rows: [what: string, ...counts: (number | { readonly length: number })[]][] = [
    ['seconds under load', Math.round(record.seconds)],
    ['planned checks, missed, repeated', slots.planned, missed, slots.events - slots.checked],
    ['events; status changes announced', events, changes],
    [
      'webhooks due, received, received again, lost; failed attempts',
      database.deliveries,
      receipts,
      repeated,
      lost,
      failedAttempts,
    ],
    ['API responses; broken calls; unexpected statuses', api.responses, api.broken, api.unexpected],
    ['connections refused; reset before they were accepted', api.refused, api.notAccepted],
    ['live streams opened, refused with 503, broken', stream.opened, stream.unavailable, stream.broken],
    ['live stream records, missing events', stream.records, notStreamed],
    ['log lines: errors, warnings', logs.errors, logs.warnings],
  ];
  if (stalls)
    rows.push(['queue events seen, unseen; stalled jobs', stalls.seen, stalls.unseen, stalls.stalled]);
  return rows.map(([what, ...counts]) => {
    const numbers = counts.map((count) => (typeof count === 'number' ? count : count.length));
    return [what, numbers.map((count) => count.toLocaleString('en-US')).join(', ')];
  });
}
