import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Logger } from './logger.ts';

export type Metrics = Registry;

/** A registry of its own with the metrics of the process (memory, event loop, garbage collection). */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}

/** A scrape waits no longer than this for a store: Prometheus gives up after 10 s, and loses the other metrics too. */
const PATIENCE_MS = 1_800;
const FRESH_FOR_MS = 10_000;

export interface ReadingOptions<Value> {
  /** For the log: completes "Could not read … for the metrics". */
  readonly what: string;
  readonly read: () => Promise<Value>;
  readonly logger: Logger;
  /** Default 10 s. */
  readonly freshForMs?: number;
  /** Milliseconds, for tests. */
  readonly now?: () => number;
}

/** Null where it cannot be read now. Never rejects, and answers within 2 s. */
export type Reading<Value> = () => Promise<Value | null>;

/**
 * Something that metrics read from a store: once in ten seconds, however many ask, and never twice at a time. A store that is
 * away is asked as rarely.
 */
export function createReading<Value>(options: ReadingOptions<Value>): Reading<Value> {
  const { what, read, logger, freshForMs = FRESH_FOR_MS, now = () => performance.now() } = options;
  let known: { readonly value: Value | null; readonly at: number } | undefined;
  let running: Promise<Value | null> | undefined;

  async function readNow(): Promise<Value | null> {
    let value: Value | null = null;
    try {
      value = await read();
    } catch (error) {
      logger.debug(`Could not read ${what} for the metrics`, { error });
    }
    known = { value, at: now() };
    return value;
  }

  return async function lastReading() {
    if (known && now() - known.at < freshForMs) return known.value;
    running ??= readNow().finally(() => {
      running = undefined;
    });
    return orNullIfLate(running);
  };
}

async function orNullIfLate<Value>(reading: Promise<Value | null>): Promise<Value | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, PATIENCE_MS, null);
  });
  try {
    return await Promise.race([reading, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** One value of a gauge, with its labels. */
export interface Sample<Label extends string> {
  readonly labels: Readonly<Record<Label, string>>;
  readonly value: number;
}

export interface ReadGaugeOptions<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly Label[];
  /** Null: cannot be read now. */
  readonly samples: () => Promise<readonly Sample<Label>[] | null>;
}

/** A gauge that is read when it is scraped. What cannot be read is left out: an old value would look like a true one. */
export function registerReadGauge<Label extends string>(
  registry: Metrics,
  { name, help, labelNames, samples }: ReadGaugeOptions<Label>,
): void {
  const gauge = new Gauge({
    name,
    help,
    labelNames: [...labelNames],
    registers: [],
    async collect() {
      const read = await samples();
      this.reset();
      // Without labels a reset leaves a 0.
      if (labelNames.length === 0) this.remove();
      for (const { labels, value } of read ?? []) this.set(labels, value);
    },
  });
  registry.registerMetric(gauge);
}

/** A gauge without labels, of one number of a reading. */
export function registerReadNumber<Value>(
  registry: Metrics,
  { name, help }: { readonly name: string; readonly help: string },
  reading: Reading<Value>,
  pick: (value: NonNullable<Value>) => number,
): void {
  registerReadGauge<never>(registry, {
    name,
    help,
    labelNames: [],
    samples: async () => {
      const value = await reading();
      return value === null || value === undefined ? null : [{ labels: {}, value: pick(value) }];
    },
  });
}

/** How wrong this process' clock is at least, milliseconds; at most one of the two is above 0. */
export interface ClockOffset {
  readonly aheadMs: number;
  readonly behindMs: number;
  /** What the other clock showed, epoch milliseconds. */
  readonly theirs: number;
}

/** Compares this process' clock with another one; of the time that the answer takes nobody knows when it was read. */
export async function measureClockOffset(readClock: () => Promise<number>): Promise<ClockOffset> {
  const askedAt = Date.now();
  const theirs = await readClock();
  return { aheadMs: Math.max(0, askedAt - theirs), behindMs: Math.max(0, theirs - Date.now()), theirs };
}

/** Shows how wrong this process' clock is. @param read null: unknown, and not shown */
export function registerClockOffset(
  registry: Metrics,
  read: () => Promise<Pick<ClockOffset, 'aheadMs' | 'behindMs'> | null>,
): void {
  registerReadGauge<never>(registry, {
    name: 'tocsin_clock_offset_seconds',
    help: "How far this process' clock is ahead of its stores' clocks, at least; negative: behind.",
    labelNames: [],
    samples: async () => {
      const offset = await read();
      return offset && [{ labels: {}, value: (offset.aheadMs - offset.behindMs) / 1_000 }];
    },
  });
}
