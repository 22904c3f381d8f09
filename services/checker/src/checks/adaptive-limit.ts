/** If the event loop is this late, checks wait for this process instead of their targets. */
const TOO_LATE_MS = 100;
const IN_TIME_MS = 50;
const SAMPLE_EVERY_MS = 100;
const REDUCE_TO = 0.75;
const RAISE_BY = 0.1;
/** The limit never falls below this. Even this many checks keep a process busy if each takes only milliseconds of its time. */
const MIN_LIMIT = 50;

/** Limits concurrent checks. The limit falls while the event loop is late, and then rises gradually. */
export class AdaptiveLimit {
  readonly #max: number;
  #limit: number;

  constructor(max: number) {
    this.#max = max;
    this.#limit = max;
  }

  /** Returns the limit after another sample. @param used running checks. If the loop is late, the limit falls below this number */
  next(lateMs: number, used: number): number {
    const { floor, ceil, max, min } = Math;
    if (lateMs > TOO_LATE_MS)
      this.#limit = max(min(this.#max, MIN_LIMIT), floor(min(this.#limit, max(used, MIN_LIMIT)) * REDUCE_TO));
    else if (lateMs < IN_TIME_MS) this.#limit = min(this.#max, this.#limit + ceil(this.#limit * RAISE_BY));
    return this.#limit;
  }
}

/** Measures how late the event loop runs a timer. @returns a function that stops the measurement */
export function watchLateness(onSample: (lateMs: number) => void): () => void {
  let dueAt = performance.now() + SAMPLE_EVERY_MS;
  const timer = setInterval(() => {
    const now = performance.now();
    onSample(Math.max(0, now - dueAt));
    dueAt = now + SAMPLE_EVERY_MS;
  }, SAMPLE_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
