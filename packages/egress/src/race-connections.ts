import type { LookupAddress } from 'node:dns';
import type { Socket } from 'node:net';
import { afterReading } from './dns/name-lookup.ts';

/** RFC 8305: the next attempt begins after this time, or when one fails. */
const NEXT_AFTER_MS = 250;
/** A name may have thousands of addresses, and each attempt takes a port. */
const MAX_ATTEMPTS = 4;
/** Callers may extend their deadline by a second if the process lacks CPU time. After that, the race ends what they left behind. */
const AFTER_DEADLINE_MS = 1_200;

export interface Race {
  readonly addresses: readonly LookupAddress[];
  readonly port: number;
  /** By `performance.now()`. */
  readonly deadline: number;
  readonly connect: (address: string) => Socket;
}

/**
 * Connects to the first address that responds (RFC 8305). Attempts of alternating families begin one after the other while earlier ones
 * continue. If every attempt fails, the error is an `AggregateError`.
 */
export function raceConnections(
  { addresses, port, deadline, connect }: Race,
  done: (error: Error | null, socket: Socket | null) => void,
): void {
  const waiting = inTurns(addresses);
  /** Address of each attempt, oldest first. */
  const running = new Map<Socket, string>();
  const errors: Error[] = [];
  let cancelNext: (() => void) | undefined;
  const cancelDeadline = afterReading(
    () => end(timeoutError(), null),
    Math.max(0, deadline + AFTER_DEADLINE_MS - performance.now()),
  );

  function attempt(): void {
    cancelNext?.();
    const next = waiting.shift();
    if (next === undefined) return;
    if (running.size === MAX_ATTEMPTS) endOldest();
    const socket = connect(next.address);
    running.set(socket, next.address);
    socket.once('connect', () => end(null, socket));
    socket.once('error', (error) => failed(socket, error));
    if (waiting.length > 0) cancelNext = afterReading(attempt, NEXT_AFTER_MS);
  }

  function endOldest(): void {
    const [oldest] = running;
    if (oldest === undefined) return;
    const [socket, address] = oldest;
    running.delete(socket);
    release(socket).destroy();
    errors.push(timeoutError({ address, port }));
  }

  function failed(socket: Socket, error: Error): void {
    running.delete(socket);
    errors.push(error);
    if (waiting.length > 0) return attempt();
    if (running.size > 0) return;
    const [first = error] = errors;
    const { code } = first as NodeJS.ErrnoException;
    end(Object.assign(new AggregateError(errors, first.message), { code }), null);
  }

  function end(error: Error | null, winner: Socket | null): void {
    cancelNext?.();
    cancelDeadline();
    for (const socket of running.keys()) {
      release(socket);
      if (socket !== winner) socket.destroy();
    }
    done(error, winner);
  }

  attempt();
}

function release(socket: Socket): Socket {
  return socket.removeAllListeners('connect').removeAllListeners('error');
}

function timeoutError(peer: { readonly address?: string; readonly port?: number } = {}): Error {
  return Object.assign(new Error('connect ETIMEDOUT'), { code: 'ETIMEDOUT', syscall: 'connect', ...peer });
}

/** Alternates the families, beginning with the family of the first address. */
function inTurns(addresses: readonly LookupAddress[]): LookupAddress[] {
  const family = addresses[0]?.family;
  const [firsts, seconds] = [true, false].map((isFirst) =>
    addresses.filter((address) => (address.family === family) === isFirst),
  );
  return addresses.flatMap((_, index) =>
    [firsts?.[index], seconds?.[index]].filter((one) => one !== undefined),
  );
}
