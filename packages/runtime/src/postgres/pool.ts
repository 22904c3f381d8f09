import { Socket } from 'node:net';
import { callbackify } from 'node:util';
import { Client, Pool, type PoolClient, type PoolConfig } from 'pg';
import { parsePostgresUrl, type PostgresAddress, type PostgresHost } from './address.ts';
import {
  checkSession,
  connectToAddress,
  endSession,
  hostTimeout,
  KEEP_ALIVE,
  limitResponse,
} from './connect.ts';

/** How long a query waits for a free connection, and how long connecting may take. */
const CONNECT_WITHIN_MS = 10_000;

/** The options of pg's pool, except those that this module sets. */
export type PostgresPoolConfig = Omit<
  PoolConfig,
  'connectionString' | 'connectionTimeoutMillis' | keyof typeof KEEP_ALIVE | 'stream' | 'Client'
> & {
  readonly application_name: string;
  readonly Client?: typeof Client;
  /** A connection breaks if its server sends nothing for this long, idle or not. Default: never. */
  readonly silentMs?: number;
  /**
   * How often to send a query over a connection that is checked out for long, such as one that waits for notifications. With a multiple
   * of it as `silentMs`, only dead connections break. Default: never.
   */
  readonly heartbeatMs?: number;
};

export interface PostgresPool {
  readonly pool: Pool;
  /** Breaks all connections, also later ones, so that a service that stops does not wait for a server that does not respond. */
  abandon(): void;
}

/** Opens a pool on the servers of an address. Each connection is made when it is needed, to the first suitable server. */
export function openPostgresPool(url: string, config: PostgresPoolConfig): PostgresPool {
  const { silentMs, heartbeatMs, Client: Base = Client, ...rest } = config;
  const address = parsePostgresUrl(url);
  const needsSelection = address.hosts.length > 1 || address.session !== 'any';
  const open = new Set<Socket>();
  const abandoned = new AbortController();
  const openSocket = (): Socket => {
    const socket = createSocket(silentMs);
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    // Not now: the client connects the socket first.
    if (abandoned.signal.aborted) setImmediate(() => socket.destroy(stopError()));
    return socket;
  };
  const pool = new Pool({
    ...rest,
    connectionString: address.hosts[0]?.url,
    connectionTimeoutMillis: CONNECT_WITHIN_MS,
    ...KEEP_ALIVE,
    stream: openSocket,
    Client: needsSelection ? selectingClient(Base, address, abandoned.signal) : Base,
  });
  // A session that ends between two statements of a transaction fails the next one. Without a listener it would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  if (heartbeatMs !== undefined) sendHeartbeats(pool, heartbeatMs);
  return {
    pool,
    abandon: () => {
      abandoned.abort(stopError());
      for (const socket of open) socket.destroy(stopError());
    },
  };
}

const stopError = (): Error => new Error('The service stops');

function createSocket(silentMs: number | undefined): Socket {
  const socket = new Socket();
  // The socket may break before its client connects and listens. Without a listener the error would end the process.
  socket.on('error', () => undefined);
  if (silentMs !== undefined) {
    // A half-open connection must not hang its user.
    socket.setTimeout(silentMs, () => {
      socket.destroy(new Error(`Postgres has been silent for ${silentMs / 1_000} s`));
    });
  }
  return socket;
}

function sendHeartbeats(pool: Pool, everyMs: number): void {
  const timers = new WeakMap<PoolClient, NodeJS.Timeout>();
  pool.on('acquire', (client) => {
    let isWaiting = false;
    const timer = setInterval(() => {
      if (isWaiting) return;
      isWaiting = true;
      // After an error no more are sent: the user of the connection gets the error, too.
      client.query('select 1').then(
        () => (isWaiting = false),
        () => undefined,
      );
    }, everyMs);
    timers.set(client, timer.unref());
  });
  pool.on('release', (_error, client) => clearInterval(timers.get(client)));
}

/** Clients that connect to the first suitable server of the address. pg itself supports only one server. */
function selectingClient(
  Base: typeof Client,
  address: PostgresAddress,
  abandoned: AbortSignal,
): typeof Client {
  const selector = new HostSelector(address, abandoned);
  return class SelectingClient extends Base {
    override connect(): Promise<Client>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback: (error: null, client: Client) => void): void;
    override connect(callback?: (error: never, client: Client) => void): Promise<Client> | void {
      const connecting = this.#connect();
      if (callback === undefined) return connecting;
      callbackify(() => connecting)(callback as (error: unknown, client: Client) => void);
    }

    async #connect(): Promise<Client> {
      const { stream } = this.connection;
      let host: PostgresHost | undefined;
      let cancelLimit: (() => void) | undefined;
      // After a failover the broken connections show that another server has to be selected, also before the pool listens.
      this.on('error', () => selector.forget(host));
      try {
        host = await selector.select();
        const { host: hostname, port } = new Client({ connectionString: host.url });
        // The pool has given up on this connection in the meantime.
        if (stream.destroyed) throw new Error('The connection is no longer needed');
        Object.assign(this, { host: hostname, port });
        // The selected server may have become unreachable or a standby.
        cancelLimit = limitResponse(stream, hostTimeout(address, CONNECT_WITHIN_MS));
        await super.connect();
        await checkSession(this, address.session);
        return this;
      } catch (error) {
        selector.forget(host);
        // Ended, so that the loss of its connection is not another error.
        this.end().catch(() => undefined);
        stream.destroy();
        throw error;
      } finally {
        cancelLimit?.();
      }
    }
  };
}

/** Remembers which server of an address is suitable, and finds it with a short session. */
class HostSelector {
  readonly #address: PostgresAddress;
  readonly #signal: AbortSignal;
  #selected: PostgresHost | undefined;
  #selecting: Promise<PostgresHost> | undefined;

  constructor(address: PostgresAddress, signal: AbortSignal) {
    this.#address = address;
    this.#signal = signal;
    // The pool's own connection shows whether the only server is suitable.
    if (address.hosts.length === 1) this.#selected = address.hosts[0];
  }

  /** The server that was selected last. Otherwise one session probes the servers for all callers. */
  async select(): Promise<PostgresHost> {
    if (this.#selected !== undefined) return this.#selected;
    this.#selecting ??= this.#probe().finally(() => {
      this.#selecting = undefined;
    });
    return this.#selecting;
  }

  /** A connection with this server failed: the next `select` probes again. */
  forget(host: PostgresHost | undefined): void {
    if (host === this.#selected && this.#address.hosts.length > 1) this.#selected = undefined;
  }

  async #probe(): Promise<PostgresHost> {
    const probe = await connectToAddress(this.#address, {
      applicationName: 'tocsin probe',
      signal: this.#signal,
    });
    this.#selected = probe.host;
    await endSession(probe);
    return probe.host;
  }
}
