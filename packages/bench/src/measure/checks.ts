import { setTimeout as wait } from 'node:timers/promises';
import { countSlots, type Span } from '@tocsin/lab/slots';
import type { Pool } from 'pg';
import { atMost, figure, type Figure } from '../report/figure.ts';
import type { Stage } from '../stage.ts';
import {
  histogramPercentile,
  parseHistogram,
  subtractHistogram,
  sumHistograms,
  type Histogram,
} from './histogram.ts';
import { measureUsage, sumUsage } from './usage.ts';
import type { Usages } from './proc.ts';

const LAG = 'tocsin_check_schedule_lag_seconds';
/** A slot in a span counts as missed if it has no event this long after the end of the span. */
const MAX_LATE_MS = 15_000;
const POLL_MS = 1_000;
const MAX_WARM_UP_SECONDS = 5;
/** A system with at most this lag has caught up. Seconds. */
const SETTLED_LAG_P99 = 0.5;
const MAX_WARM_UP_ROUNDS = 6;

/** Checks in a span. */
interface CheckCounts {
  readonly expected: number;
  /** Events with a timestamp within the span. */
  readonly recorded: number;
  /** Slots within the span without an event, even a late one. */
  readonly missed: number;
  /** Longest time from a slot to its recorded event, without the probe. NaN without events. */
  readonly recordedMaxMs: number;
}

/** Checks of a system in one or more windows. */
export interface CheckWindow extends CheckCounts {
  readonly seconds: number;
  readonly usage: Usages;
  /** In seconds. */
  readonly lag: Histogram;
  /** Bytes on disk, with indexes. */
  readonly bytesPerCheck: number;
}

/** Reads the schedule lag since the start of the checkers, in seconds. */
export async function readLag(stage: Pick<Stage, 'running'>): Promise<Histogram> {
  return parseHistogram(await Promise.all(stage.running('checker').map((one) => one.metrics())), LAG);
}

export async function measureChecks(
  stage: Stage,
  monitorIds: readonly string[],
  intervalSeconds: number,
  seconds: number,
): Promise<CheckWindow> {
  const { pool } = stage.system.database;
  const [tableBefore, lagBefore] = [await readEventTable(pool), await readLag(stage)];
  const { span, usage } = await measureUsage(stage, () => wait(seconds * 1_000));
  const lag = subtractHistogram(await readLag(stage), lagBefore);
  const counts = await countChecks(pool, monitorIds, intervalSeconds, span);
  const table = await readEventTable(pool);
  const bytesPerCheck = (table.bytes - tableBefore.bytes) / (table.events - tableBefore.events);
  return { ...counts, seconds: (span.to - span.from) / 1_000, usage, lag, bytesPerCheck };
}

/** Reads the events of a past span, once all its checks are recorded or count as missed. */
async function countChecks(
  pool: Pool,
  monitorIds: readonly string[],
  intervalSeconds: number,
  span: Span,
): Promise<CheckCounts> {
  const expected = countSlots(monitorIds, intervalSeconds * 1_000, span);
  for (;;) {
    await wait(POLL_MS);
    const { rows } = await pool.query<Record<'recorded' | 'checked', string> & { maxMs: number | null }>(
      `select count(*) filter (where timestamp < $2) as recorded,
         count(*) filter (where slot >= $1 and slot < $2) as checked,
         max(extract(epoch from timestamp - slot)::float8 * 1000 - latency_ms) filter (where slot >= $1 and slot < $2) as "maxMs"
       from events where timestamp >= $1`,
      [new Date(span.from), new Date(span.to)],
    );
    const [recorded, missed] = [Number(rows[0]?.recorded), expected - Number(rows[0]?.checked)];
    if (missed <= 0 || Date.now() > span.to + MAX_LATE_MS)
      return { expected, recorded, missed, recordedMaxMs: rows[0]?.maxMs ?? Number.NaN };
  }
}

/** Reads the number of events, and their size on disk with the index. @param table of raw events or of blocks of packed events */
export async function readEventTable(
  pool: Pool,
  table: 'events' | 'event_blocks' = 'events',
): Promise<{ events: number; bytes: number }> {
  const count = table === 'events' ? 'count(*)' : 'coalesce(sum(cardinality(delays)), 0)';
  const { rows } = await pool.query<Record<'events' | 'bytes', string>>(
    `select (select ${count} from ${table}) as events,
       (select coalesce(sum(pg_total_relation_size(inhrelid)), 0) from pg_inherits where inhparent = '${table}'::regclass) as bytes`,
  );
  return { events: Number(rows[0]?.events), bytes: Number(rows[0]?.bytes) };
}

/** Waits until checks no longer lag behind their schedule. A system that always lags is measured, too. */
export async function untilSettled(stage: Pick<Stage, 'running'>, seconds: number): Promise<void> {
  for (let round = 0; round < MAX_WARM_UP_ROUNDS; round += 1) {
    const before = await readLag(stage);
    await wait(Math.min(MAX_WARM_UP_SECONDS, seconds) * 1_000);
    const lag = subtractHistogram(await readLag(stage), before);
    if (histogramPercentile(lag, 99) <= SETTLED_LAG_P99) break;
  }
}

/** Measures two kinds of windows in turns, because the machine may drift. Bytes and memory are those of the last window of a kind. */
export async function measureInTurns<Kind extends string>(
  [one, other]: readonly [Kind, Kind],
  measure: (kind: Kind) => Promise<CheckWindow>,
): Promise<Record<Kind, CheckWindow>> {
  const windows: [Kind, CheckWindow][] = [];
  for (const kind of [one, other, other, one]) windows.push([kind, await measure(kind)]);
  const sumOf = (wanted: Kind): CheckWindow =>
    windows.flatMap(([kind, window]) => (kind === wanted ? [window] : [])).reduce(add);
  return { [one]: sumOf(one), [other]: sumOf(other) } as Record<Kind, CheckWindow>;
}

function add(first: CheckWindow, second: CheckWindow): CheckWindow {
  return {
    expected: first.expected + second.expected,
    recorded: first.recorded + second.recorded,
    missed: first.missed + second.missed,
    recordedMaxMs: Math.max(first.recordedMaxMs, second.recordedMaxMs),
    seconds: first.seconds + second.seconds,
    usage: sumUsage([first.usage, second.usage]),
    lag: sumHistograms([first.lag, second.lag]),
    bytesPerCheck: second.bytesPerCheck,
  };
}

export function lagFigures(lag: Histogram, maxP99Ms?: number): Figure[] {
  const ms = (percent: number): number => histogramPercentile(lag, percent) * 1_000;
  return [
    figure('lag-p50', 'schedule lag p50', ms(50), 'ms'),
    figure('lag-p99', 'schedule lag p99', ms(99), 'ms', atMost(maxP99Ms)),
  ];
}
