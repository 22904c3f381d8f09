import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import type { ServiceProcess } from '@tocsin/lab/service-process';
import type { Account } from '../system/account.ts';

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

/** TCP states of a connection that its process has not closed: ESTABLISHED, and CLOSE_WAIT, where the peer has closed its side. */
const OPEN_STATES = new Set(['01', '08']);

/** How many connections to a port its process has accepted and not closed. One that is not accepted yet has inode 0 (proc(5)). */
export async function acceptedConnections(port: number): Promise<number> {
  const tables = await Promise.all(['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8')));
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const rows = tables.join('\n').split('\n');
  return rows.filter((row) => {
    const [, address = '', , state = '', , , , , , inode] = row.trim().split(/\s+/);
    return address.endsWith(local) && OPEN_STATES.has(state) && inode !== '0';
  }).length;
}

/** An ordinary client, who is to notice nothing of what others do to the api. */
export class Bystander {
  readonly #api: ServiceProcess;
  readonly #account: Account;

  constructor(api: ServiceProcess, account: Account) {
    this.#api = api;
    this.#account = account;
  }

  /** Asks as people do: reads, and writes. @throws Error where that does not work */
  async ask(): Promise<void> {
    const base = `http://127.0.0.1:${this.#api.port}/api/cli/monitors`;
    const headers = {
      Authorization: `Bearer ${this.#account.key}`,
      'Content-Type': 'application/json',
      Connection: 'close',
    };
    const call = async (method: string, path: string, body?: object): Promise<unknown> => {
      const answer = await fetch(base + path, {
        method,
        headers,
        ...(body && { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
      return text === '' ? null : JSON.parse(text);
    };
    const { monitor } = (await call('POST', '', { name: 'bystander', url: 'https://a.invalid' })) as {
      monitor: { id: string };
    };
    await call('GET', `/${monitor.id}`);
    await call('DELETE', `/${monitor.id}`);
  }

  /** Resident memory of the api process. */
  async memoryMb(): Promise<number> {
    const status = await readFile(`/proc/${this.#api.pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024;
  }
}
