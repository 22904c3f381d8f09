import { connect, type Socket } from 'node:net';

/** A connection that is spoken to in bytes, and says when it is over. */
export interface HostileClient {
  readonly socket: Socket;
  /** The beginning of what came back. */
  readonly received: () => string;
  /** Whether the other side has ended it. */
  readonly isOver: () => boolean;
}

const KEPT_CHARACTERS = 10_000;

/** @param localAddress one of 127.0.0.0/8, where one address has not ports enough */
export function openHostileClient(port: number, localAddress = '127.0.0.1'): Promise<HostileClient> {
  return new Promise((resolve, reject) => {
    let text = '';
    let over = false;
    const socket = connect({ port, host: '127.0.0.1', localAddress, allowHalfOpen: true });
    socket.once('connect', () => resolve({ socket, received: () => text, isOver: () => over }));
    socket.once('error', reject);
    // Being cut off is what it asked for.
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      if (text.length < KEPT_CHARACTERS) text += bytes.toString('latin1');
    });
    // Its own side it never closes.
    for (const end of ['end', 'close'] as const) socket.once(end, () => (over = true));
  });
}

/** Says something again and again until the connection is over. */
export function keepSaying({ socket, isOver }: HostileClient, text: string | Buffer, everyMs: number): void {
  const timer = setInterval(() => {
    if (isOver()) clearInterval(timer);
    else socket.write(text);
  }, everyMs);
  timer.unref();
}

/** Says something as fast as it is taken, without an end. */
export function pour({ socket, isOver }: HostileClient, bytes: Buffer): void {
  const more = (): void => {
    while (!isOver() && socket.writable && socket.write(bytes));
  };
  socket.on('drain', more);
  more();
}
