import type { Socket } from 'node:net';
import type { Timings } from '@tocsin/contracts/monitors/events';

/** A timer this late shows that the process lacks CPU time, not that the target is slow. */
const LATE_TIMER_MS = 200;
/** A probe in a process without CPU time may take this much longer, once. */
const EXTENSION_MS = 1_000;

/**
 * Interrupts the current step of a probe after `timeoutMs`, or when `end` is called. It first reads what has arrived, and grants another
 * second to a process that lacked CPU time.
 */
export class Deadline {
  readonly timeoutMs: number;
  /** Measured by `performance.now()`. */
  endsAt: number;
  state: 'running' | 'expired' | 'aborted' | 'throttled' = 'running';
  /** Time spent waiting for other probes, which does not count as latency. */
  waitedMs = 0;
  /** Ends the current step. It is a plain field, because this is the hot path. */
  interrupt: (() => void) | null = null;
  readonly #startedAt = performance.now();
  #timer: NodeJS.Timeout;
  #isClosed = false;

  constructor(timeoutMs: number) {
    this.timeoutMs = timeoutMs;
    this.endsAt = this.#startedAt + timeoutMs;
    this.#timer = setTimeout(() => this.#expire(true), timeoutMs);
  }

  /** Node runs timers before it reads from sockets, and immediates afterwards. */
  #expire(mayExtend: boolean): void {
    const isLate = performance.now() - this.endsAt > LATE_TIMER_MS;
    setImmediate(() => {
      if (this.#isClosed) return;
      if (!isLate || !mayExtend) return this.end('expired');
      this.endsAt = performance.now() + EXTENSION_MS;
      this.#timer = setTimeout(() => this.#expire(false), EXTENSION_MS);
    });
  }

  /** Returns whole milliseconds since the start, at least 1, because in events a latency of 0 means that nothing was reached. */
  elapsedMs(): number {
    return Math.max(1, Math.round(performance.now() - this.#startedAt - this.waitedMs));
  }

  end(state: 'expired' | 'aborted' | 'throttled'): void {
    if (this.state !== 'running') return;
    this.state = state;
    this.interrupt?.();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.interrupt = null;
  }
}

/** Measures the phases of one request with `performance.now()`. */
export class PhaseClock {
  #startedAt = performance.now();
  #resolvedAt: number | null = null;
  #connectedAt: number | null = null;
  #securedAt: number | null = null;
  #headAt: number | null = null;
  #bodyAt: number | null = null;
  #isSecure = false;
  readonly #isNamed: boolean;

  constructor(isNamed: boolean) {
    this.#isNamed = isNamed;
  }

  /** @param waitedMs time before the lookup began */
  resolved(waitedMs: number): void {
    this.#startedAt += waitedMs;
    this.#resolvedAt = performance.now();
  }

  watch(socket: Socket, isSecure: boolean): void {
    this.#isSecure = isSecure;
    // The winner of several attempts is already connected.
    if (!socket.pending) this.#connectedAt = performance.now();
    else socket.on('connect', () => (this.#connectedAt = performance.now()));
    if (isSecure) socket.on('secureConnect', () => (this.#securedAt = performance.now()));
  }

  head(): void {
    this.#headAt = performance.now();
  }

  body(): void {
    this.#bodyAt = performance.now();
  }

  get connected(): boolean {
    return this.#connectedAt !== null;
  }

  get isLookingUp(): boolean {
    return this.#isNamed && this.#resolvedAt === null && this.#connectedAt === null;
  }

  /** Describes which phase a timeout ended. @param limit the timeout of the check */
  describeTimeout(limit: string): string {
    if (this.#headAt !== null)
      return `response not complete within ${limit} (headers after ${this.#msUntil(this.#headAt)})`;
    if (this.#connectedAt === null)
      return `${this.isLookingUp ? 'name lookup' : 'connection'} timed out after ${limit}`;
    const missing = this.#isSecure && this.#securedAt === null ? 'TLS handshake not complete' : 'no response';
    return `${missing} within ${limit} (connected after ${this.#msUntil(this.#connectedAt)})`;
  }

  #msUntil(moment: number): string {
    return `${Math.round(moment - this.#startedAt)} ms`;
  }

  timings(): Timings {
    return {
      dns: duration(this.#startedAt, this.#resolvedAt),
      tcp: duration(this.#resolvedAt ?? this.#startedAt, this.#connectedAt),
      tls: duration(this.#connectedAt, this.#securedAt),
      firstByte: duration(this.#securedAt ?? this.#connectedAt, this.#headAt),
      download: duration(this.#headAt, this.#bodyAt),
    };
  }
}

function duration(from: number | null, to: number | null): number | null {
  return from === null || to === null ? null : Math.round(to - from);
}
