import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Logger } from './logger.ts';
import { withTimeout } from './timeout.ts';

export type Metrics = Registry;

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}

/** After 10 s, Prometheus times out and loses all metrics of the scrape. */
const READ_TIMEOUT_MS = 1_800;
const FRESH_FOR_MS = 10_000;

export interface ReadingOptions<Value> {
  /** Completes "Could not read … for the metrics" in the log. */
  readonly what: string;
  readonly read: () => Promise<Value>;
  readonly logger: Logger;
  readonly freshForMs?: number;
  readonly now?: () => number;
}

/** Resolves to null within 2 s if the value is unavailable. Never rejects. */
export type Reading<Value> = () => Promise<Value | null>;

/** Caches a value for metrics. It is read at most once in `freshForMs`, even after a failure. */
export function createReading<Value>(options: ReadingOptions<Value>): Reading<Value> {
  const { what, read, logger, freshForMs = FRESH_FOR_MS, now = () => performance.now() } = options;
  let last: { readonly value: Value | null; readonly at: number } | undefined;
  let running: Promise<Value | null> | undefined;

  async function readNow(): Promise<Value | null> {
    const value = await (async () => read())().catch((error: unknown) => {
      logger.debug(`Could not read ${what} for the metrics`, { error });
      return null;
    });
    last = { value, at: now() };
    return value;
  }

  return async () => {
    if (last && now() - last.at < freshForMs) return last.value;
    running ??= readNow().finally(() => {
      running = undefined;
    });
    return withTimeout(running, READ_TIMEOUT_MS, null);
  };
}

export interface Sample<Label extends string> {
  readonly labels: Readonly<Record<Label, string>>;
  readonly value: number;
}

export interface ReadGaugeOptions<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly Label[];
  /** Null if unavailable. */
  readonly samples: () => Promise<readonly Sample<Label>[] | null>;
}

/** Registers a gauge that is read at each scrape. It exports no sample without a value, because an old value would look current. */
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
      if (labelNames.length === 0) this.remove();
      for (const { labels, value } of read ?? []) this.set(labels, value);
    },
  });
  registry.registerMetric(gauge);
}

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

/** Minimum offset from another clock, in milliseconds. At most one of the two is above 0. */
export interface ClockOffset {
  readonly aheadMs: number;
  readonly behindMs: number;
  /** The other clock, epoch milliseconds. */
  readonly theirs: number;
}

/** Compares the clock of this process with another one. The duration of the read counts for neither. */
export async function measureClockOffset(readClock: () => Promise<number>): Promise<ClockOffset> {
  const before = Date.now();
  const theirs = await readClock();
  return { aheadMs: Math.max(0, before - theirs), behindMs: Math.max(0, theirs - Date.now()), theirs };
}

export function registerClockOffset(
  registry: Metrics,
  read: Reading<Pick<ClockOffset, 'aheadMs' | 'behindMs'>>,
): void {
  const name = 'tocsin_clock_offset_seconds';
  const help = 'Minimum offset of the clock of this process from the clocks of its stores; negative: behind.';
  registerReadNumber(registry, { name, help }, read, ({ aheadMs, behindMs }) => (aheadMs - behindMs) / 1_000);
}
