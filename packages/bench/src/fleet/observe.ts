import { setTimeout as wait } from 'node:timers/promises';
import { readPartitions } from '@tocsin/db/database/partitions';
import { timeoutSeconds } from '@tocsin/lab/monitors';
import type { Span } from '@tocsin/lab/slots';
import type { Client } from 'pg';
import { distributionOf } from '../measure/percentiles.ts';
import type { Usages } from '../measure/proc.ts';
import { figure, type Figure } from '../report/figure.ts';
import { formatNumber } from '../report/table.ts';
import type { Bench } from '../scenarios/scenario.ts';
import type { Stage } from '../stage.ts';

const SAMPLE_MS = 30_000;
const INTERVALS_PER_WINDOW = 5;
/** A slot counts as missed if it has no event this long after its window, plus the timeout of a check. */
const MAX_LATE_MS = 15_000;
/** Heaps and caches grow until then. */
const MEMORY_WARM_UP_MS = 20 * 60_000;
/** After a shorter time, chance would look like growth. */
const MIN_GROWTH_MS = 40 * 60_000;
/** Programs that are not part of the system. */
const OTHERS = new Set(['target', 'names']);
const NONE = { atMost: 0 };

interface FleetIds {
  readonly all: readonly string[];
  readonly hanging: readonly string[];
  readonly flapping: readonly string[];
}

/** Events in a window of slots. */
interface WindowCounts {
  readonly expected: number;
  readonly missed: number;
  /** Events of a slot that already has one. */
  readonly repeated: number;
  /** Failed checks of targets that are always up. */
  readonly falseFailures: number;
  /** Passed checks of targets that never respond. */
  readonly falsePasses: number;
}

interface Sample {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly usage: Usages;
}

interface Observation {
  readonly span: Span;
  readonly figures: Figure[];
  readonly recorded: number;
  /** Packed partitions by name, including those that have expired. */
  readonly packed: ReadonlySet<string>;
}

/** Samples the memory of a fleet, and counts the events of each window of slots as soon as all are recorded or count as missed. */
export async function observe(
  { say }: Bench,
  stage: Stage,
  client: Client,
  ids: FleetIds,
  { interval, seconds }: { readonly interval: number; readonly seconds: number },
): Promise<Observation> {
  const from = Date.now();
  const windowMs = INTERVALS_PER_WINDOW * interval * 1_000;
  const to = from + Math.max(1, Math.floor((seconds * 1_000) / windowMs)) * windowMs;
  const samples: Sample[] = [];
  const windows: WindowCounts[] = [];
  const packed = new Set<string>();
  for (let start = from; start < to; start += windowMs) {
    const settledAt = start + windowMs + timeoutSeconds(interval) * 1_000 + MAX_LATE_MS;
    while (Date.now() < settledAt) {
      if (Date.now() < to) samples.push({ at: Date.now(), usage: stage.usage() });
      await wait(Math.min(SAMPLE_MS, Math.max(0, settledAt - Date.now())));
    }
    const window = await countWindow(client, ids, start, settledAt, interval);
    windows.push(window);
    for (const { name } of await readPartitions(stage.system.database.db, 'event_blocks')) packed.add(name);
    const { expected, missed, repeated, falseFailures, falsePasses } = window;
    const failures = `${falseFailures} false failures, ${falsePasses} false passes`;
    const minute = formatNumber((start + windowMs - from) / 60_000);
    say(`minute ${minute}: ${missed} of ${expected} slots missed, ${repeated} recorded twice, ${failures}`);
  }
  const total = (name: keyof WindowCounts): number => windows.reduce((sum, window) => sum + window[name], 0);
  const recorded = total('expected') - total('missed') + total('repeated');
  const figures = [
    figure('offered', 'checks planned', (total('expected') * 1_000) / (to - from), '/s'),
    figure('done', 'checks recorded', (recorded * 1_000) / (to - from), '/s'),
    figure('slots', 'slots', total('expected'), ''),
    figure('missed', '  without an event', total('missed'), '', NONE),
    figure('repeated', '  with two events', total('repeated'), '', NONE),
    figure('false-failures', 'failed checks of targets that are up', total('falseFailures'), '', NONE),
    figure('false-passes', 'passed checks of targets that hang', total('falsePasses'), '', NONE),
    ...fleetMemoryFigures(samples),
  ];
  return { span: { from, to }, figures, recorded, packed };
}

/**
 * Counts the events of a window of slots. Retention drops events during a run, so each window is read while they are recent. A monitor's
 * slots of the window are the bits of a mask, so that one pass over the events finds missed and repeated slots.
 */
async function countWindow(
  client: Client,
  ids: FleetIds,
  from: number,
  settledAt: number,
  intervalSeconds: number,
): Promise<WindowCounts> {
  // Postgres groups the events by monitor.
  await client.query(`set work_mem = '128MB'`);
  const until = from + INTERVALS_PER_WINDOW * intervalSeconds * 1_000;
  const { rows } = await client.query<Record<string, string | null>>(
    `select sum(bit_count(slots::bit(32))) as slots, sum(events) as events, sum(failures) as failures, sum(passes) as passes
     from (
       select bit_or(1 << floor(extract(epoch from slot - $1) / $4::float8)::int) as slots, count(*) as events,
         count(*) filter (where status <> 'UP' and monitor_id <> all($5) and monitor_id <> all($6)) as failures,
         count(*) filter (where status = 'UP' and monitor_id = any($5)) as passes
       from events
       where timestamp >= $1 and timestamp < $3 and slot >= $1 and slot < $2
       group by monitor_id) as monitor`,
    [new Date(from), new Date(until), new Date(settledAt), intervalSeconds, ids.hanging, ids.flapping],
  );
  const read = (name: string): number => Number(rows[0]?.[name]);
  const expected = ids.all.length * INTERVALS_PER_WINDOW;
  return {
    expected,
    missed: expected - read('slots'),
    repeated: read('events') - read('slots'),
    falseFailures: read('failures'),
    falsePasses: read('passes'),
  };
}

/** Reports the maximum of each program's memory. A long run also has the growth between the medians of the first and the last quarter. */
function fleetMemoryFigures(samples: readonly Sample[]): Figure[] {
  const start = (samples[0]?.at ?? 0) + MEMORY_WARM_UP_MS;
  const end = samples.at(-1)?.at ?? 0;
  const quarter = (end - start) / 4;
  const names = [...(samples[0]?.usage.keys() ?? [])].filter((name) => !OTHERS.has(name));
  return names.flatMap((name) => {
    const key = name.replaceAll(' ', '-');
    const memory = (from: number, to: number) =>
      distributionOf(
        samples.flatMap(({ at, usage }) =>
          at >= from && at <= to ? [(usage.get(name)?.rssBytes ?? Number.NaN) / 1e6] : [],
        ),
      );
    const highest = figure(`rss-${key}`, `memory of ${name}, largest`, memory(0, end).max, 'MB');
    if (end - start < MIN_GROWTH_MS) return [highest];
    const [first, last] = [memory(start, start + quarter).p50, memory(end - quarter, end).p50];
    return [
      highest,
      figure(`rss-first-${key}`, '  first quarter after minute 20', first, 'MB'),
      figure(`rss-last-${key}`, '  last quarter', last, 'MB'),
      figure(`growth-${key}`, '  growth between them', last - first, 'MB', { atMost: 15 }),
    ];
  });
}
