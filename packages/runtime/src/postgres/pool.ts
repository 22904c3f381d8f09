import { Socket } from 'node:net';
import { callbackify } from 'node:util';
import { Client, Pool, type PoolClient, type PoolConfig } from 'pg';
import { parsePostgresUrl, type PostgresAddress, type PostgresHost } from './address.ts';
import {
  checkSession,
  connectToAddress,
  endSession,
  KEEP_ALIVE,
  limitAnswer,
  shareOfHost,
} from './connect.ts';

/** A place in the pool, and a connection, are waited for this long. */
const CONNECT_WITHIN_MS = 10_000;

/** What pg's pool is told, but for the address, and what this module sees to. */
export type PostgresPoolConfig = Omit<
  PoolConfig,
  'connectionString' | 'connectionTimeoutMillis' | keyof typeof KEEP_ALIVE | 'stream' | 'Client'
> & {
  readonly application_name: string;
  readonly Client?: typeof Client;
  /** A connection breaks when its server says nothing for this long, idle or not; not given: never. */
  readonly silentMs?: number;
  /**
   * How often a query is sent over a connection that is checked out for long, such as one that waits for notifications. With a
   * multiple of it as `silentMs`, only dead connections break. Not given: never.
   */
  readonly heartbeatMs?: number;
};

export interface PostgresPool {
  readonly pool: Pool;
  /** Breaks every connection, those too that are asked for later: a service that stops waits for none that does not answer. */
  abandon(): void;
}

/** Opens a pool on the servers of an address; connections are made when first needed, each with the first server that fits. */
export function openPostgresPool(url: string, config: PostgresPoolConfig): PostgresPool {
  const { silentMs, heartbeatMs, Client: Base = Client, ...rest } = config;
  const address = parsePostgresUrl(url);
  const sockets = new Sockets(silentMs);
  const pool = new Pool({
    ...rest,
    connectionString: address.hosts[0]?.url,
    connectionTimeoutMillis: CONNECT_WITHIN_MS,
    ...KEEP_ALIVE,
    stream: () => sockets.open(),
    Client: isPlain(address) ? Base : selectingClient(Base, address, sockets.abandoned),
  });
  // A session that ends between two statements of a transaction fails the next one; unheard, it would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  if (heartbeatMs !== undefined) sendHeartbeats(pool, heartbeatMs);
  return { pool, abandon: () => sockets.abandon() };
}

function sendHeartbeats(pool: Pool, everyMs: number): void {
  const timers = new WeakMap<PoolClient, NodeJS.Timeout>();
  pool.on('acquire', (client) => {
    let waiting = false;
    const timer = setInterval(() => {
      if (waiting) return;
      waiting = true;
      // After an error no more are sent: whoever uses the connection learns that it is broken.
      client.query('select 1').then(
        () => (waiting = false),
        () => undefined,
      );
    }, everyMs);
    timers.set(client, timer.unref());
  });
  pool.on('release', (_error, client) => clearInterval(timers.get(client)));
}

function isPlain({ hosts, session }: PostgresAddress): boolean {
  return hosts.length === 1 && session === 'any';
}

/** Clients that connect to the first server of the address that fits: pg itself knows one server. */
function selectingClient(
  Base: typeof Client,
  address: PostgresAddress,
  abandoned: AbortSignal,
): typeof Client {
  const finder = new HostFinder(address, abandoned);
  return class SelectingClient extends Base {
    override connect(): Promise<Client>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback: (error: null, client: Client) => void): void;
    override connect(callback?: (error: never, client: Client) => void): Promise<Client> | void {
      const connecting = this.#connectToOne();
      if (callback === undefined) return connecting;
      callbackify(() => connecting)(callback as (error: unknown, client: Client) => void);
    }

    async #connectToOne(): Promise<Client> {
      const { stream } = this.connection;
      let found: PostgresHost | undefined;
      let answered: (() => void) | undefined;
      // Also before the pool listens. After a failover the broken connections say that another server is to be found.
      this.on('error', () => finder.forget(found));
      try {
        found = await finder.find();
        const { host, port } = new Client({ connectionString: found.url });
        // The pool gave up meanwhile.
        if (stream.destroyed) throw new Error('The connection is no longer needed');
        Object.assign(this, { host, port });
        // The server that was found last may be gone by now.
        answered = limitAnswer(stream, shareOfHost(address, CONNECT_WITHIN_MS));
        await super.connect();
        // It may have become a standby since it was found.
        await checkSession(this, address.session);
        return this;
      } catch (error) {
        finder.forget(found);
        // Ended, so that the loss of its connection is no further error.
        this.end().catch(() => undefined);
        stream.destroy();
        throw error;
      } finally {
        answered?.();
      }
    }
  };
}

/** Knows which server of an address fits, and finds it by a session that is ended again. */
class HostFinder {
  readonly #address: PostgresAddress;
  readonly #signal: AbortSignal;
  #known: PostgresHost | undefined;
  #finding: Promise<PostgresHost> | undefined;

  constructor(address: PostgresAddress, signal: AbortSignal) {
    this.#address = address;
    this.#signal = signal;
    // There is nothing to find: the pool's own connection shows whether the server fits.
    if (address.hosts.length === 1) this.#known = address.hosts[0];
  }

  /** The server that was found last; otherwise, however many ask at a time, one session looks for it. */
  async find(): Promise<PostgresHost> {
    if (this.#known !== undefined) return this.#known;
    this.#finding ??= this.#probe().finally(() => {
      this.#finding = undefined;
    });
    return this.#finding;
  }

  /** A connection with this server failed: the next one looks again which server fits. */
  forget(host: PostgresHost | undefined): void {
    if (host === this.#known && this.#address.hosts.length > 1) this.#known = undefined;
  }

  async #probe(): Promise<PostgresHost> {
    const probe = await connectToAddress(this.#address, {
      applicationName: 'tocsin probe',
      signal: this.#signal,
    });
    this.#known = probe.host;
    await endSession(probe);
    return probe.host;
  }
}

/** The sockets of a pool. */
class Sockets {
  readonly #silentMs: number | undefined;
  readonly #open = new Set<Socket>();
  readonly #abandon = new AbortController();

  constructor(silentMs: number | undefined) {
    this.#silentMs = silentMs;
  }

  get abandoned(): AbortSignal {
    return this.#abandon.signal;
  }

  open(): Socket {
    const socket = new Socket();
    // It may break before its client connects and listens: an error that nobody hears ends the process.
    socket.on('error', () => undefined);
    const silentMs = this.#silentMs;
    if (silentMs !== undefined) {
      // A half-open connection must not hang its user.
      socket.setTimeout(silentMs, () => {
        socket.destroy(new Error(`Postgres has been silent for ${silentMs / 1_000} s`));
      });
    }
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
    // After the call that connects it.
    if (this.abandoned.aborted) setImmediate(breakSocket, socket);
    return socket;
  }

  abandon(): void {
    this.#abandon.abort(stopError());
    for (const socket of this.#open) breakSocket(socket);
  }
}

function breakSocket(socket: Socket): void {
  socket.destroy(stopError());
}

const stopError = (): Error => new Error('The service stops');
