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
