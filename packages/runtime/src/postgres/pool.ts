import { Socket } from 'node:net';
import { callbackify } from 'node:util';
import { Client, Pool, type PoolClient, type PoolConfig } from 'pg';
import { parsePostgresUrl, type PostgresAddress, type PostgresHost } from './address.ts';
import {
  checkSession,
  connectPostgres,
  endSession,
  hostTimeout,
  KEEP_ALIVE,
  limitResponse,
} from './connect.ts';

/** Applies to connecting and to waiting for a free connection. */
const CONNECT_WITHIN_MS = 10_000;

export type PostgresPoolConfig = Omit<
  PoolConfig,
  'connectionString' | 'connectionTimeoutMillis' | keyof typeof KEEP_ALIVE | 'stream' | 'Client'
> & {
  readonly application_name: string;
  readonly Client?: typeof Client;
  /** A connection in use that receives nothing for this long breaks, together with all idle ones. Defaults to never. */
  readonly silentMs?: number;
  /** Interval of queries over connections that stay checked out. `silentMs` is a multiple of it. Defaults to never. */
  readonly heartbeatMs?: number;
};

export interface PostgresPool {
  readonly pool: Pool;
  /** Breaks all connections, even later ones, so that a stopping service does not wait for a silent server. */
  abandon(): void;
}

/** Opens a pool that connects to the first suitable server of an address. */
export function openPostgresPool(url: string, config: PostgresPoolConfig): PostgresPool {
  const { silentMs, heartbeatMs, Client: Base = Client, ...rest } = config;
  const address = parsePostgresUrl(url);
  const needsSelection = address.hosts.length > 1 || address.session !== 'any';
  const open = new Set<Socket>();
  const abandoned = new AbortController();
  const openSocket = (): Socket => {
    const socket = createSocket();
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    // The client must connect the socket first.
    if (abandoned.signal.aborted) setImmediate(() => socket.destroy(stopError()));
    return socket;
  };
  const pool = new Pool({
    ...rest,
    connectionString: address.hosts[0]?.url,
    connectionTimeoutMillis: CONNECT_WITHIN_MS,
    ...KEEP_ALIVE,
    stream: openSocket,
    Client: needsSelection ? selectingClient(Base, url, address, abandoned.signal) : Base,
  });
  // Without a listener, a session that ends within a transaction would end the process. The next statement reports the error.
  pool.on('connect', (client) => client.on('error', () => undefined));
  if (silentMs !== undefined) breakSilent(pool, silentMs);
  if (heartbeatMs !== undefined) sendHeartbeats(pool, heartbeatMs);
  return {
    pool,
    abandon: () => {
      abandoned.abort(stopError());
      for (const socket of open) socket.destroy(stopError());
    },
  };
}

const stopError = (): Error => new Error('The service is shutting down');

function createSocket(): Socket {
  const socket = new Socket();
  // Without a listener, an error before the client connects would end the process.
  socket.on('error', () => undefined);
  return socket;
}

/** Breaks half-open connections. Idle ones probably lead to the same dead server, so they break too. */
function breakSilent(pool: Pool, silentMs: number): void {
  const idle = new Set<Socket>();
  pool.on('connect', (client) => {
    const socket = socketOf(client);
    socket.on('timeout', () => {
      const error = new Error(`Postgres has been silent for ${silentMs / 1_000} s`);
      for (const one of [socket, ...idle]) one.destroy(error);
    });
    socket.once('close', () => idle.delete(socket));
  });
  pool.on('acquire', (client) => {
    const socket = socketOf(client).setTimeout(silentMs);
    idle.delete(socket);
  });
  pool.on('release', (_error, client) => {
    const socket = socketOf(client).setTimeout(0);
    if (!socket.destroyed) idle.add(socket);
  });
}

function socketOf({ connection }: PoolClient): Socket {
  return connection.stream as Socket;
}

function sendHeartbeats(pool: Pool, everyMs: number): void {
  const timers = new WeakMap<PoolClient, NodeJS.Timeout>();
  pool.on('acquire', (client) => {
    let isWaiting = false;
    const timer = setInterval(() => {
      if (isWaiting) return;
      isWaiting = true;
      // The user of the connection gets the error too.
      client.query('select 1').then(
        () => (isWaiting = false),
        () => undefined,
      );
    }, everyMs);
    timers.set(client, timer.unref());
  });
  pool.on('release', (_error, client) => clearInterval(timers.get(client)));
}

/** pg supports only one server. */
function selectingClient(
  Base: typeof Client,
  url: string,
  address: PostgresAddress,
  abandoned: AbortSignal,
): typeof Client {
  const selector = createSelector(url, address, abandoned);
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
      // After a failover, broken connections show that another server must be selected.
      this.on('error', () => selector.forget(host));
      try {
        host = await selector.select();
        const { host: hostname, port } = new Client({ connectionString: host.url });
        if (stream.destroyed) throw new Error('The connection is no longer needed');
        Object.assign(this, { host: hostname, port });
        // The selected server may have become unreachable or a standby.
        cancelLimit = limitResponse(stream, hostTimeout(address, CONNECT_WITHIN_MS));
        await super.connect();
        await checkSession(this, address.session);
        return this;
      } catch (error) {
        selector.forget(host);
        this.end().catch(() => undefined);
        stream.destroy();
        throw error;
      } finally {
        cancelLimit?.();
      }
    }
  };
}

function createSelector(url: string, { hosts }: PostgresAddress, signal: AbortSignal) {
  // A single server needs no probe.
  const only = hosts.length === 1 ? hosts[0] : undefined;
  let selected = only;
  let selecting: Promise<PostgresHost> | undefined;
  const probe = async (): Promise<PostgresHost> => {
    const session = await connectPostgres(url, { applicationName: 'tocsin probe', signal });
    selected = session.host;
    await endSession(session);
    return session.host;
  };
  return {
    /** Resolves to the last selected server, or probes all servers once for all callers. */
    select: async (): Promise<PostgresHost> =>
      selected ?? (selecting ??= probe().finally(() => (selecting = undefined))),
    /** A connection failed, so the next `select` probes again. */
    forget: (host: PostgresHost | undefined): void => {
      if (host === selected) selected = only;
    },
  };
}
