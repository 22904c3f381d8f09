import { setMaxListeners } from 'node:events';

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
  readonly #signal: AbortSignal | undefined;
  readonly #onAbort = (): void => this.#end('aborted');

  constructor(timeoutMs: number, signal: AbortSignal | undefined) {
    this.endsAt = this.startedAt + timeoutMs;
    this.#timer = setTimeout(() => this.#end('expired'), timeoutMs);
    this.#signal = signal;
    if (signal === undefined) return;
    if (signal.aborted) this.state = 'aborted';
    // Hundreds of probes share the signal of a process; Node would take that for a leak.
    setMaxListeners(Infinity, signal);
    signal.addEventListener('abort', this.#onAbort);
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
    this.#signal?.removeEventListener('abort', this.#onAbort);
    this.interrupt = null;
  }

  #end(state: 'expired' | 'aborted'): void {
    if (this.state !== 'running') return;
    this.state = state;
    this.interrupt?.();
  }
}
