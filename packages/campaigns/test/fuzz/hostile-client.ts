import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { describe } from '@jest/globals';
import { createMonitorSchema } from '@tocsin/contracts/monitors/monitor';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { createMonitor } from '@tocsin/db/monitors/create-monitors';
import { until } from '@tocsin/embedded/testing/until';
import type { Account } from '@tocsin/campaigns/fuzz/account';
import type { FuzzSystem } from '@tocsin/campaigns/fuzz/fuzz-system';

/** Counting connections needs `/proc/net`. */
export function describeOnLinux(name: string, tests: () => void): void {
  if (process.platform === 'linux') describe(name, tests);
  else describe.skip(`${name} (counting connections needs /proc/net of Linux)`, tests);
}

/** A connection that sends arbitrary bytes and never closes its side. */
export interface HostileClient {
  readonly socket: Socket;
  /** True once the server has sent anything. */
  readonly hasResponse: () => boolean;
  /** True once the server has closed the connection. */
  readonly isClosed: () => boolean;
}

/** @param localAddress in 127.0.0.0/8; each address has its own 28,000 ports */
async function openHostileClient(port: number, localAddress: string): Promise<HostileClient> {
  let hasData = false;
  let closed = false;
  const socket = connect({ port, host: '127.0.0.1', localAddress, allowHalfOpen: true });
  // The server resets the connection, which attacks provoke.
  socket.on('error', () => undefined);
  socket.on('data', () => (hasData = true));
  for (const event of ['end', 'close'] as const) socket.once(event, () => (closed = true));
  await once(socket, 'connect');
  return { socket, hasResponse: () => hasData, isClosed: () => closed };
}

/** Sends the same bytes again and again until the connection is closed. */
export function drip({ socket, isClosed }: HostileClient, text: string, everyMs: number): void {
  const timer = setInterval(() => {
    if (isClosed()) clearInterval(timer);
    else socket.write(text);
  }, everyMs);
  timer.unref();
}

/** Sends the same bytes as fast as the server reads them, without an end. */
function flood({ socket, isClosed }: HostileClient, bytes: Buffer): void {
  const write = (): void => {
    while (!isClosed() && socket.writable && socket.write(bytes));
  };
  socket.on('drain', write);
  write();
}

/** Reads a byte now and then. */
function readSlowly({ socket }: HostileClient): void {
  socket.pause().removeAllListeners('data');
  const timer = setInterval(() => socket.read(1), 50).unref();
  socket.once('close', () => clearInterval(timer));
}

/** TCP states of a connection that the process has not closed: ESTABLISHED, and CLOSE_WAIT after the peer has closed its side. */
const OPEN_STATES = new Set(['01', '08']);

/** Counts the connections to a port that the process has accepted and not closed. A connection has inode 0 before that (proc(5)). */
export async function countConnections(port: number): Promise<number> {
  const tables = await Promise.all(['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8')));
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return tables
    .flatMap((table) => table.split('\n'))
    .filter((row) => {
      const [, address = '', , state = '', , , , , , inode] = row.trim().split(/\s+/);
      return address.endsWith(local) && OPEN_STATES.has(state) && inode !== '0';
    }).length;
}

/** Creates and deletes a monitor, as an ordinary client does. @throws Error if a request fails */
export async function useApi(port: number, { keys }: Account): Promise<void> {
  const type = { 'Content-Type': 'application/json', Connection: 'close' };
  const headers = { Authorization: `Bearer ${keys.full}`, ...type };
  const call = async (path: string, init: RequestInit): Promise<string> => {
    const response = await fetch(`http://127.0.0.1:${port}/api/cli/monitors${path}`, { headers, ...init });
    const text = await response.text();
    if (!response.ok) throw new Error(`${init.method} ${path}: ${response.status} ${text}`);
    return text;
  };
  const body = JSON.stringify({ name: 'bystander', url: 'https://a.invalid' });
  const created = JSON.parse(await call('', { method: 'POST', body })) as { monitor: { id: string } };
  await call(`/${created.monitor.id}`, { method: 'DELETE' });
}

/** Creates monitors whose list has 3.5 MB, more than the buffers of a connection hold. */
export async function createLongList({ context }: FuzzSystem, { id }: Account): Promise<void> {
  const fields = { name: 'long', url: 'https://a.invalid', body: 'x'.repeat(60_000) };
  const input = createMonitorSchema.parse(fields);
  for (let index = 0; index < 60; index += 1) await createMonitor(context, systemActor(id), input, 'default');
}

/** Routes that read a body, with and without a key. */
const BODY_PATHS = ['/api/cli/monitors', '/api/dashboard/invitations/accept', '/api/auth/sign-in/email'];
const SLOW_HEAD = 'GET /api/cli/monitors HTTP/1.1\r\nHost: a\r\nX-A: ';
/** A chunk of a chunked body. */
const CHUNK = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(0x10000, ' '), Buffer.from('\r\n')]);

/** Hostile clients of one api. */
export class Attackers {
  readonly clients: HostileClient[] = [];
  readonly #port: number;
  readonly #account: Account;

  constructor(port: number, account: Account) {
    this.#port = port;
    this.#account = account;
  }

  /** @param text sent at once, or null to send nothing */
  async open(count: number, text: string | Buffer | null, address = '127.0.0.1'): Promise<HostileClient[]> {
    const opening = Array.from({ length: count }, () => openHostileClient(this.#port, address));
    const opened = await Promise.all(opening);
    this.clients.push(...opened);
    if (text !== null) for (const { socket } of opened) socket.write(text);
    return opened;
  }

  /** The head of a request with a key, up to the given headers. */
  head(method: string, path: string, headers = ''): string {
    const { full } = this.#account.keys;
    return `${method} ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${full}\r\nContent-Type: application/json\r\n${headers}\r\n`;
  }

  /** Sends heads that never end. */
  openSlowHeads(count: number): Promise<HostileClient[]> {
    return this.open(count, SLOW_HEAD);
  }

  /** Starts a body on each route that reads one. */
  async openBodies(count: number, length: number): Promise<HostileClient[]> {
    const heads = BODY_PATHS.map((path) => this.head('POST', path, `Content-Length: ${length}\r\n`));
    return (await Promise.all(heads.map((head) => this.open(count, head)))).flat();
  }

  async sendEndlessBodies(count: number): Promise<void> {
    for (const path of [...BODY_PATHS, '/healthz']) {
      const head = this.head('POST', path, 'Transfer-Encoding: chunked\r\n');
      for (const client of await this.open(count, head)) flood(client, CHUNK);
    }
    const head = this.head('POST', '/api/cli/monitors', 'Content-Length: 10000000000000\r\n');
    for (const client of await this.open(2 * count, head)) flood(client, Buffer.alloc(0x10000, ' '));
  }

  /** Sends header lines, complete requests and garbage. */
  async sendFloods(count: number): Promise<void> {
    await this.open(count, `GET / HTTP/1.1\r\nHost: a\r\n${'A: b\r\n'.repeat(20_000)}`);
    const request = this.head('GET', `/api/cli/monitors/${this.#account.id}`);
    await this.open(Math.ceil(count / 4), request.repeat(1_000));
    await this.open(count, Buffer.alloc(100_000, 0xff));
  }

  async readLongListsSlowly(count: number): Promise<void> {
    for (const reader of await this.open(count, this.head('GET', '/api/cli/monitors'))) {
      await until('the beginning of a response', () => reader.hasResponse() || reader.isClosed());
      readSlowly(reader);
    }
  }

  /** Sends a body into live streams. */
  async sendIntoStreams(count: number): Promise<void> {
    const head = `GET /api/dashboard/stream HTTP/1.1\r\nHost: a\r\nCookie: ${this.#account.cookies.full}\r\n`;
    for (const client of await this.open(count, `${head}Transfer-Encoding: chunked\r\n\r\n`))
      drip(client, '1\r\na\r\n', 50);
  }

  /** Waits until the api has closed every connection, too. */
  async close(): Promise<void> {
    for (const { socket } of this.clients) socket.destroy();
    await this.untilNoConnections();
  }

  untilNoConnections(): Promise<boolean> {
    return until('all connections to be closed', async () => (await countConnections(this.#port)) === 0);
  }
}
