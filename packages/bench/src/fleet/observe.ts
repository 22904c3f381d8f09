import { setTimeout as wait } from 'node:timers/promises';
import { timeoutSeconds } from '@tocsin/lab/monitors';
import type { Client } from 'pg';
import { histogramPercentile, subtractHistogram, type Histogram } from '../measure/histogram.ts';
import type { Usage } from '../measure/proc.ts';
import type { Span } from '@tocsin/lab/slots';
import { formatNumber } from '../report/table.ts';
import { readLag } from '../scenarios/load.ts';
import type { Bench } from '../scenarios/scenario.ts';
import type { Stage } from '../stage.ts';
import { readHistory, type HistoryState } from './history.ts';
import { countWindow, settledAt, windowsOf, type FleetIds, type WindowCounts } from './windows.ts';

const SAMPLE_MS = 30_000;
const SAMPLES_PER_REPORT = 2;
const INTERVALS_PER_WINDOW = 5;

/** The state of the programs at one time. */
export interface Sample {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly usage: ReadonlyMap<string, Usage>;
  /** The schedule lag since the start of the checkers, in seconds. */
  readonly lag: Histogram;
  readonly history: HistoryState;
}

export interface Observation {
  /** Of all windows. */
  readonly span: Span;
  /** The first one at the start of the span, the last one at its end. */
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
  const pending = windowsOf({ from, to: from + seconds * 1_000 }, interval * 1_000, INTERVALS_PER_WINDOW);
  const to = pending.at(-1)?.to ?? from;
  const samples: Sample[] = [];
  const windows: (WindowCounts & Span)[] = [];
  const countSettled = async (): Promise<void> => {
    for (
      let next = pending[0];
      next !== undefined && Date.now() >= settledAt(next, timeout);
      next = pending[0]
    ) {
      const counts = await countWindow(client, ids, next, {
        intervalSeconds: interval,
        timeoutSeconds: timeout,
      });
      windows.push({ ...next, ...counts });
      pending.shift();
      say(`  ${minutesOf(next.from - from)} to ${minutesOf(next.to - from)}: ${describeCounts(counts)}`);
    }
  };
  for (let due = from; ; due = Math.min(due + SAMPLE_MS, to)) {
    await wait(Math.max(0, due - Date.now()));
    samples.push(await takeSample(stage, client));
    if (samples.length > 1 && (samples.length - 1) % SAMPLES_PER_REPORT === 0)
      say(`${minutesOf(due - from)}: ${describeSince(samples.slice(-1 - SAMPLES_PER_REPORT))}`);
    if (due === to) break;
    await countSettled();
  }
  while (pending.length > 0) {
    await wait(1_000);
    await countSettled();
  }
  return { span: { from, to }, samples, windows };
}

async function takeSample(stage: Stage, client: Client): Promise<Sample> {
  return {
    at: Date.now(),
    usage: stage.usage(),
    lag: await readLag(stage),
    history: await readHistory(client),
  };
}

function minutesOf(ms: number): string {
  return `minute ${formatNumber(ms / 60_000)}`;
}

function describeCounts(counts: WindowCounts): string {
  const { expected, missed, repeated, falseFailures, falsePasses, failureReasons } = counts;
  const reasons = failureReasons.map(({ detail, count }) => `${count} × ${detail}`).join('; ');
  const failures = `${falseFailures} false failures${reasons && ` (${reasons})`}`;
  return `${missed} of ${expected} slots missed, ${repeated} recorded twice, ${failures}, ${falsePasses} false passes`;
}

function describeSince(samples: readonly Sample[]): string {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined) return '';
  const lag = subtractHistogram(last.lag, first.lag);
  const seconds = (last.at - first.at) / 1_000;
  const cores = [...last.usage].map(([name, { cpuMs, rssBytes }]) => {
    const percent = (cpuMs - (first.usage.get(name)?.cpuMs ?? 0)) / seconds / 10;
    return `${name} ${formatNumber(percent)}% ${formatNumber(rssBytes / 1_000_000)} MB`;
  });
  const rate = (lag.at(-1)?.count ?? 0) / seconds;
  const p99 = histogramPercentile(lag, 99) * 1_000;
  const disk = last.history.databaseBytes / 1_000_000;
  return `${formatNumber(rate)} checks/s, lag p99 ${formatNumber(p99)} ms, database ${formatNumber(disk)} MB; ${cores.join(', ')}`;
}
