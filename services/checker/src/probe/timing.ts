import type { Socket } from 'node:net';
import type { Timings } from '@tocsin/contracts/monitors/events';

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

/** Stamps the phases of one hop (design §4 "real DNS, TCP and TLS timings"). Moments are `performance.now()`. */
export class PhaseClock {
  readonly #startedAt = performance.now();
  #resolvedAt: number | null = null;
  #connectedAt: number | null = null;
  #securedAt: number | null = null;
  #headAt: number | null = null;
  #bodyAt: number | null = null;
  #secure = false;

  /** Follows a socket that is about to connect. */
  watch(socket: Socket, secure: boolean): void {
    this.#secure = secure;
    // Emitted once for each address of a name (never for an IP literal): the first ends the phase.
    socket.on('lookup', () => (this.#resolvedAt ??= performance.now()));
    socket.on('connect', () => (this.#connectedAt = performance.now()));
    if (secure) socket.on('secureConnect', () => (this.#securedAt = performance.now()));
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

  /** What the exchange was busy with, for the detail of a timeout. */
  get phase(): string {
    if (this.#headAt !== null) return 'reading the body';
    if (this.#securedAt !== null) return 'waiting for the response';
    if (this.#connectedAt !== null) return this.#secure ? 'in the TLS handshake' : 'waiting for the response';
    return this.#resolvedAt === null ? 'resolving the name or connecting' : 'connecting';
  }

  timings(): Timings {
    return {
      dns: span(this.#startedAt, this.#resolvedAt),
      tcp: span(this.#resolvedAt ?? this.#startedAt, this.#connectedAt),
      tls: span(this.#connectedAt, this.#securedAt),
      firstByte: span(this.#securedAt ?? this.#connectedAt, this.#headAt),
      download: span(this.#headAt, this.#bodyAt),
    };
  }
}

function span(from: number | null, to: number | null): number | null {
  return from === null || to === null ? null : Math.round(to - from);
}
