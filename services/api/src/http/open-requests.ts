import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** The requests of each connection that are not answered to the end, in the order of their answers. */
export class OpenRequests {
  readonly #bySocket = new Map<Duplex, Set<ServerResponse>>();

  /** @returns how many the connection now has, this one included: more than one where a client pipelines */
  add({ socket }: IncomingMessage, res: ServerResponse): number {
    const open = this.#bySocket.get(socket) ?? this.#addConnection(socket);
    open.add(res);
    res.once('close', () => open.delete(res));
    return open.size;
  }

  /** Whether what is written to the connection now is the answer to what arrives on it now. */
  isAnswerable(socket: Duplex): boolean {
    const [first, second] = this.#bySocket.get(socket) ?? [];
    if (first === undefined) return true;
    return second === undefined && !first.req.complete && !first.headersSent;
  }

  *answers(): Iterable<ServerResponse> {
    for (const open of this.#bySocket.values()) yield* open;
  }

  /** The last one of each connection. */
  *lastAnswers(): Iterable<ServerResponse> {
    for (const open of this.#bySocket.values()) {
      const last = [...open].at(-1);
      if (last !== undefined) yield last;
    }
  }

  /** What waits behind another answer is never told that its connection has closed. */
  #addConnection(socket: Socket): Set<ServerResponse> {
    const open = new Set<ServerResponse>();
    this.#bySocket.set(socket, open);
    socket.once('close', () => {
      open.clear();
      this.#bySocket.delete(socket);
    });
    return open;
  }
}

const LOOK_EVERY_MS = 1_000;

export interface UntakenAnswersOptions {
  /** How long a client may take for an answer, from its beginning; as much as a second more is left to it. */
  readonly forMs: number;
  /** What may wait for all clients together. */
  readonly bytes: number;
}

/**
 * Cuts off answers that are not taken by their clients for too long, and the ones that have waited longest where all together are
 * too much: whoever asks for long lists and does not read them must not fill the memory. Live streams, which have no end, bound
 * themselves.
 */
export class UntakenAnswers {
  readonly #open: OpenRequests;
  readonly #options: UntakenAnswersOptions;
  /** When each was first seen waiting, earliest first. */
  #waiting = new Map<ServerResponse, number>();
  readonly #timer: NodeJS.Timeout;

  constructor(open: OpenRequests, options: UntakenAnswersOptions) {
    this.#open = open;
    this.#options = options;
    this.#timer = setInterval(() => this.#look(), Math.min(LOOK_EVERY_MS, options.forMs)).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const now = performance.now();
    const begun = [...this.#open.answers()].filter((res) => res.headersSent && !isStream(res));
    let bytes = begun.reduce((sum, res) => sum + res.writableLength, 0);
    const waiting = begun
      .map((res) => [res, this.#waiting.get(res) ?? now] as const)
      .toSorted(([, one], [, other]) => one - other);
    this.#waiting = new Map(waiting);
    for (const [res, since] of waiting) {
      if (now - since < this.#options.forMs && bytes <= this.#options.bytes) return;
      bytes -= res.writableLength;
      // An answer behind another one of its connection has no socket of its own yet.
      res.req.socket.destroy();
    }
  }
}

function isStream(res: ServerResponse): boolean {
  return res.getHeader('content-type') === 'text/event-stream';
}
