import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** Requests of each connection without a complete response, in order. */
export class OpenRequests {
  readonly #bySocket = new Map<Duplex, Set<ServerResponse>>();

  /** @returns open requests of the connection, more than one with pipelining */
  add({ socket }: IncomingMessage, res: ServerResponse): number {
    const open = this.#bySocket.get(socket) ?? this.#addConnection(socket);
    open.add(res);
    res.once('close', () => open.delete(res));
    return open.size;
  }

  /** True if the client would read bytes written now as the response to the request that is arriving. */
  canRespond(socket: Duplex): boolean {
    const [first, second] = this.#bySocket.get(socket) ?? [];
    if (first === undefined) return true;
    return second === undefined && !first.req.complete && !first.headersSent;
  }

  *responses(): Iterable<ServerResponse> {
    for (const open of this.#bySocket.values()) yield* open;
  }

  *lastResponses(): Iterable<ServerResponse> {
    for (const open of this.#bySocket.values()) {
      const last = [...open].at(-1);
      if (last !== undefined) yield last;
    }
  }

  /** A response behind another one gets no event when its connection closes. */
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

const CHECK_EVERY_MS = 1_000;

/**
 * Cuts connections of clients that read too slowly, and the oldest ones while all unread bytes exceed `maxBytes`.
 * @returns a function that stops this
 */
export function cutUnreadResponses(open: OpenRequests, timeoutMs: number, maxBytes: number): () => void {
  /** When each response was first seen waiting, earliest first. */
  let waiting = new Map<ServerResponse, number>();
  const check = (): void => {
    const now = performance.now();
    const begun = [...open.responses()].filter((res) => res.headersSent && !isStream(res));
    let bytes = begun.reduce((sum, res) => sum + res.writableLength, 0);
    const since = begun.map((res) => [res, waiting.get(res) ?? now] as const);
    waiting = new Map(since.toSorted(([, one], [, other]) => one - other));
    for (const [res, at] of waiting) {
      if (now - at < timeoutMs && bytes <= maxBytes) return;
      bytes -= res.writableLength;
      // A response that waits for an earlier one has no socket yet.
      res.req.socket.destroy();
    }
  };
  const timer = setInterval(check, Math.min(CHECK_EVERY_MS, timeoutMs)).unref();
  return () => clearInterval(timer);
}

function isStream(res: ServerResponse): boolean {
  return res.getHeader('content-type') === 'text/event-stream';
}
