/**
 * The deadlines that end with a signal. A listener for each would slow down all others: Node walks through the listeners of a signal to
 * add or remove one.
 */
const deadlinesOf = new WeakMap<AbortSignal, Set<Deadline>>();

/**
 * The one clock of a probe: it ends the whole exchange after `timeoutMs`, or when the process shuts down, by calling
 * `interrupt` of whatever step is under way. A plain field and one timer: this is the hot path.
 */
export class Deadline {
  readonly startedAt = performance.now();
  /** By `performance.now()`. */
  readonly endsAt: number;
  state: 'running' | 'expired' | 'aborted' = 'running';
  /** What ends the present step; it is called at most once. */
  interrupt: (() => void) | null = null;
  readonly #timer: NodeJS.Timeout;
  readonly #others: Set<Deadline> | undefined;

  constructor(timeoutMs: number, signal: AbortSignal | undefined) {
    this.endsAt = this.startedAt + timeoutMs;
    this.#timer = setTimeout(() => this.#end('expired'), timeoutMs);
    if (signal === undefined) return;
    if (signal.aborted) this.state = 'aborted';
    this.#others = Deadline.#endingWith(signal);
    this.#others.add(this);
  }

  static #endingWith(signal: AbortSignal): Set<Deadline> {
    const known = deadlinesOf.get(signal);
    if (known !== undefined) return known;
    const deadlines = new Set<Deadline>();
    deadlinesOf.set(signal, deadlines);
    signal.addEventListener('abort', () => {
      for (const deadline of deadlines) deadline.#end('aborted');
    });
    return deadlines;
  }

  /**
   * Whole milliseconds since the probe began, at least 1: a latency of 0 on the wire means that nothing was reached
   * (specification "Payload").
   */
  elapsedMs(): number {
    return Math.max(1, Math.round(performance.now() - this.startedAt));
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#others?.delete(this);
    this.interrupt = null;
  }

  #end(state: 'expired' | 'aborted'): void {
    if (this.state !== 'running') return;
    this.state = state;
    this.interrupt?.();
  }
}
