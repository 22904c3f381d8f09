import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Response } from 'express';
import type { RequestState } from './request-state.ts';

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

interface Progress {
  readonly bytesWritten: number;
  /** When the client was last seen to read. */
  readonly since: number;
}

/**
 * Cuts connections of clients that have read nothing for `timeoutMs`. While all unread bytes exceed `maxBytes`, cuts those of the account
 * with the most, beginning with the client that has read nothing for the longest time.
 * @returns a function that stops this
 */
export function cutUnreadResponses(open: OpenRequests, timeoutMs: number, maxBytes: number): () => void {
  let progress = new Map<ServerResponse, Progress>();
  const check = (): void => {
    const now = performance.now();
    const begun = [...open.responses()].filter((res) => res.headersSent && !isStream(res));
    const current = begun.map((res): [ServerResponse, Progress] => {
      const last = progress.get(res);
      const { bytesWritten } = res.req.socket;
      return [res, last?.bytesWritten === bytesWritten ? last : { bytesWritten, since: now }];
    });
    progress = new Map(current.toSorted(([, one], [, other]) => one.since - other.since));
    for (const [res, { since }] of progress) if (now - since >= timeoutMs) cut(res);
    for (let next = excessive(); next !== undefined; next = excessive()) cut(next);
  };
  const timer = setInterval(check, Math.min(CHECK_EVERY_MS, timeoutMs)).unref();
  return () => clearInterval(timer);

  function excessive(): ServerResponse | undefined {
    const unread = [...progress.keys()].filter(({ writableLength }) => writableLength > 0);
    const bytes = new Map<string | undefined, number>();
    for (const res of unread)
      bytes.set(accountOf(res), (bytes.get(accountOf(res)) ?? 0) + res.writableLength);
    if ([...bytes.values()].reduce((sum, one) => sum + one, 0) <= maxBytes) return undefined;
    const [largest] = [...bytes].toSorted(([, one], [, other]) => other - one);
    return unread.find((res) => accountOf(res) === largest?.[0]);
  }

  function cut(res: ServerResponse): void {
    progress.delete(res);
    // A response that waits for an earlier one has no socket yet.
    res.req.socket.destroy();
  }
}

/** Requests without an account count as those of one account. */
function accountOf(res: ServerResponse): string | undefined {
  const { locals } = res as Partial<Pick<Response, 'locals'>>;
  const { caller } = (locals as RequestState | undefined) ?? {};
  return caller !== undefined && 'accountId' in caller ? caller.accountId : undefined;
}

function isStream(res: ServerResponse): boolean {
  return res.getHeader('content-type') === 'text/event-stream';
}
