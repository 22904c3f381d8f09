import { setTimeout as wait } from 'node:timers/promises';
import { timeoutSeconds } from '@tocsin/lab/monitors';
import type { Span } from '@tocsin/lab/slots';
import type { Client } from 'pg';
import { readLag } from '../measure/checks.ts';
import type { Histogram } from '../measure/histogram.ts';
import type { Usages } from '../measure/proc.ts';
import { formatNumber } from '../report/table.ts';
import type { Bench } from '../scenarios/scenario.ts';
import type { Stage } from '../stage.ts';
import { countWindow, settledAt, windowsOf, type FleetIds, type WindowCounts } from './windows.ts';

const SAMPLE_MS = 30_000;
const INTERVALS_PER_WINDOW = 5;

/** The state of the programs and of the database at one time. */
export interface Sample {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly usage: Usages;
  /** The schedule lag since the start of the checkers, in seconds. */
  readonly lag: Histogram;
  /** The names of the partitions of the events, and of the packed events. */
  readonly partitions: ReadonlySet<string>;
  readonly databaseBytes: number;
  /** Epoch milliseconds; null before the first roll-up. */
  readonly rolledUntil: number | null;
}

export interface Observation {
  readonly span: Span;
  /** The first sample is from the start of the span, the last one from its end. */
  readonly samples: readonly Sample[];
  readonly windows: readonly (WindowCounts & Span)[];
}

/** Takes samples while the fleet is checked, and counts the events of each window of slots as soon as it has settled. */
export async function observe(
  { say }: Bench,
  stage: Stage,
  client: Client,
  ids: FleetIds,
  { interval, seconds }: { readonly interval: number; readonly seconds: number },
): Promise<Observation> {
  const timeout = timeoutSeconds(interval);
  const from = Date.now();
  const spans = windowsOf({ from, to: from + seconds * 1_000 }, interval * 1_000, INTERVALS_PER_WINDOW);
  const to = spans.at(-1)?.to ?? from;
  const samples = [await takeSample(stage, client)];
  const windows: (WindowCounts & Span)[] = [];
  for (const span of spans) {
    const settled = settledAt(span, timeout);
    for (let now = Date.now(); now < Math.min(to, settled); now = Date.now()) {
      await wait(Math.min(SAMPLE_MS, to - now));
      samples.push(await takeSample(stage, client));
    }
    await wait(Math.max(0, settled - Date.now()));
    const counts = await countWindow(client, ids, span, interval, timeout);
    windows.push({ ...span, ...counts });
    say(`minute ${formatNumber((span.to - from) / 60_000)}: ${describeCounts(counts)}`);
  }
  return { span: { from, to }, samples, windows };
}

async function takeSample(stage: Stage, client: Client): Promise<Sample> {
  const partitions = await client.query<{ name: string }>(
    `select inhrelid::regclass::text as name from pg_inherits
     where inhparent in (to_regclass('events'), to_regclass('event_blocks'))`,
  );
  const { rows } = await client.query<{ bytes: string; rolled: Date | null }>(
    `select pg_database_size(current_database()) as bytes, (select rolled_until from check_rollup_state) as rolled`,
  );
  return {
    at: Date.now(),
    usage: stage.usage(),
    lag: await readLag(stage),
    partitions: new Set(partitions.rows.map(({ name }) => name)),
    databaseBytes: Number(rows[0]?.bytes),
    rolledUntil: rows[0]?.rolled?.getTime() ?? null,
  };
}

function describeCounts(counts: WindowCounts): string {
  const { expected, missed, repeated, falseFailures, failureReason, falsePasses } = counts;
  const reason = failureReason === null ? '' : ` (such as ${failureReason})`;
  return `${missed} of ${expected} slots missed, ${repeated} recorded twice, ${falseFailures} false failures${reason}, ${falsePasses} false passes`;
}
