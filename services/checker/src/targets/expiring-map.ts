/** Minimum time between two sweeps for expired values. */
const SWEEP_EVERY_MS = 60_000;
/** Longest time to keep data, so a less frequent check may have to read its monitor each time. */
const MAX_KEEP_MS = 10 * 60_000;

interface Entry<Value> {
  readonly value: Value;
  readonly keepMs: number;
  usedAt: number;
}

/** Keeps a value until nobody has read it for `ttlMs`, or until more than `maxSize` values were set after it. */
export class ExpiringMap<Key, Value> {
  readonly #entries = new Map<Key, Entry<Value>>();
  readonly #now: () => number;
  readonly #maxSize: number;
  #sweptAt: number;

  constructor(now: () => number = () => performance.now(), maxSize = Infinity) {
    this.#now = now;
    this.#maxSize = maxSize;
    this.#sweptAt = now();
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Key): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    entry.usedAt = this.#now();
    return entry.value;
  }

  /** @param keepMs time after the last read when the value expires */
  set(key: Key, value: Value, keepMs: number): void {
    const now = this.#now();
    this.#entries.delete(key);
    this.#entries.set(key, { value, keepMs, usedAt: now });
    if (this.#entries.size > this.#maxSize) this.#entries.delete(this.#entries.keys().next().value as Key);
    if (now - this.#sweptAt < SWEEP_EVERY_MS) return;
    this.#sweptAt = now;
    for (const [key, { usedAt, keepMs }] of this.#entries) {
      if (now - usedAt > keepMs) this.#entries.delete(key);
    }
  }

  delete(key: Key): void {
    this.#entries.delete(key);
  }
}

/** Returns how long to keep the data of a monitor, in milliseconds. After two intervals without a check, the monitor is no longer checked here. */
export function keepForInterval(intervalSeconds: number): number {
  return Math.min(2 * intervalSeconds * 1_000, MAX_KEEP_MS) + 60_000;
}
