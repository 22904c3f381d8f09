import type { Timings } from '@tocsin/contracts/event';
import type { Socket } from 'node:net';

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
