import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Client } from 'pg';
import { parsePostgresUrl, type PostgresAddress, type PostgresHost, type TargetSession } from './address.ts';

const CONNECT_WITHIN_MS = 10_000;
const END_WITHIN_MS = 1_000;

/** Without this delay, the kernel starts TCP keep-alive only after two hours. */
export const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 } as const;

export interface ConnectOptions {
  readonly applicationName: string;
  /** Session options, such as `-c statement_timeout=15s`. */
  readonly options?: string;
  readonly session?: TargetSession;
  /** Time limit for all servers together. Defaults to 10 s. */
  readonly connectWithinMs?: number;
  readonly signal?: AbortSignal;
}

/** A session outside any pool. End it with `endSession`. */
export interface PostgresSession {
  readonly client: Client;
  /** Destroying the socket breaks the connection at once. */
  readonly socket: Socket;
  readonly host: PostgresHost;
}

/** Connects to the first suitable server of an address. @throws the server's error, or an Error with the reasons of several servers */
export async function connectPostgres(url: string, options: ConnectOptions): Promise<PostgresSession> {
  const address = parsePostgresUrl(url);
  const withinMs = hostTimeout(address, options.connectWithinMs ?? CONNECT_WITHIN_MS);
  const failures: string[] = [];
  for (const host of address.hosts) {
    try {
      return await connectToHost(host, options.session ?? address.session, withinMs, options);
    } catch (error) {
      options.signal?.throwIfAborted();
      if (address.hosts.length === 1) throw error;
      // If all addresses of a name time out, Node's error has a code but no message.
      const { message = '', code = 'unknown error' } = error as { message?: string; code?: string };
      failures.push(`${host.name}: ${message === '' ? code : message}`);
    }
  }
  throw new Error(`None of the servers in the address can be used: ${failures.join('; ')}`);
}

/** Time limit per host in ms. Several hosts share the time, and leave a share for using the session. */
export function hostTimeout({ hosts }: PostgresAddress, connectWithinMs: number): number {
  return hosts.length === 1 ? connectWithinMs : connectWithinMs / (hosts.length + 1);
}

/** Destroys the socket if the server does not respond in time. @returns a function that cancels the limit */
export function limitResponse(socket: Duplex, withinMs: number): () => void {
  const late = setTimeout(
    () => socket.destroy(new Error(`no response within ${(withinMs / 1_000).toFixed(1)} s`)),
    withinMs,
  );
  return () => clearTimeout(late);
}

async function connectToHost(
  host: PostgresHost,
  session: TargetSession,
  withinMs: number,
  { applicationName, options, signal }: ConnectOptions,
): Promise<PostgresSession> {
  signal?.throwIfAborted();
  const socket = new Socket();
  const client = new Client({
    connectionString: host.url,
    application_name: applicationName,
    ...KEEP_ALIVE,
    ...(options !== undefined && { options }),
    stream: () => socket,
  });
  // The failing query reports the error.
  client.on('error', () => undefined);
  const cancelLimit = limitResponse(socket, withinMs);
  const abort = (): void => void socket.destroy();
  signal?.addEventListener('abort', abort, { once: true });
  try {
    await client.connect();
    await checkSession(client, session);
    return { client, socket, host };
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    cancelLimit();
    signal?.removeEventListener('abort', abort);
  }
}

/** @throws Error if the session is not of the wanted kind */
export async function checkSession(client: Pick<Client, 'query'>, session: TargetSession): Promise<void> {
  if (session === 'any') return;
  const { rows } = await client.query<{ standby: boolean; read_only: boolean }>(
    `select pg_is_in_recovery() as standby, current_setting('transaction_read_only')::bool as read_only`,
  );
  if (rows[0]?.standby !== false) throw new Error('it is a read-only standby');
  if (session === 'read-write' && rows[0].read_only) throw new Error('its sessions are read-only');
}

/** Ends the session, or closes the socket if the server does not respond. */
export async function endSession({ client, socket }: PostgresSession): Promise<void> {
  const late = setTimeout(() => socket.destroy(), END_WITHIN_MS);
  await client.end();
  clearTimeout(late);
}
