import type { Socket } from 'node:net';
import type { Timings } from '@tocsin/contracts/monitors/events';

/** A timer that fires this much late means that the process is short of CPU time, not that the target is slow. */
const LATE_TIMER_MS = 200;
/** How much longer a probe may take then, once. */
const EXTRA_MS = 1_000;

/**
 * The one clock of a probe. It interrupts the current step after `timeoutMs`, or when `end` is called. What has arrived by then is read
 * first, and a process that was short of CPU time gets another second.
 */
export class Deadline {
  readonly timeoutMs: number;
  /** By `performance.now()`. */
  endsAt: number;
  state: 'running' | 'expired' | 'aborted' = 'running';
  /** Ends the current step; called at most once. A plain field, because this is the hot path. */
  interrupt: (() => void) | null = null;
  readonly #startedAt = performance.now();
  #timer: NodeJS.Timeout;
  #isClosed = false;

  constructor(timeoutMs: number) {
    this.timeoutMs = timeoutMs;
    this.endsAt = this.#startedAt + timeoutMs;
    this.#timer = setTimeout(() => this.#expire(true), timeoutMs);
  }

  /** Node runs timers before it reads from sockets, and immediates after that. */
  #expire(mayExtend: boolean): void {
    const isLate = performance.now() - this.endsAt > LATE_TIMER_MS;
    setImmediate(() => {
      if (this.#isClosed) return;
      if (!isLate || !mayExtend) return this.end('expired');
      this.endsAt = performance.now() + EXTRA_MS;
      this.#timer = setTimeout(() => this.#expire(false), EXTRA_MS);
    });
  }

  /** Whole milliseconds since the probe started, at least 1: in events, a latency of 0 means that nothing was reached. */
  elapsedMs(): number {
    return Math.max(1, Math.round(performance.now() - this.#startedAt));
  }

  end(state: 'expired' | 'aborted'): void {
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

/** Measures the phases of one hop. Moments are `performance.now()`. */
export class PhaseClock {
  readonly #startedAt = performance.now();
  #resolvedAt: number | null = null;
  #connectedAt: number | null = null;
  #securedAt: number | null = null;
  #headAt: number | null = null;
  #bodyAt: number | null = null;
  #isSecure = false;
  readonly #isNamed: boolean;

  /** @param isNamed whether the host is a name, which is looked up first */
  constructor(isNamed: boolean) {
    this.#isNamed = isNamed;
  }

  resolved(): void {
    this.#resolvedAt = performance.now();
  }

  /** @param socket that may still be connecting */
  watch(socket: Socket, isSecure: boolean): void {
    this.#isSecure = isSecure;
    // The winner of several attempts is connected already.
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

  /** Whether the name is not resolved yet. */
  get isLookingUp(): boolean {
    return this.#isNamed && this.#resolvedAt === null && this.#connectedAt === null;
  }

  /** What a timeout ended, in words. @param limit the timeout of the check */
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
