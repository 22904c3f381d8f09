import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Client, type ClientConfig } from 'pg';
import { parsePostgresUrl, type PostgresAddress, type PostgresHost, type TargetSession } from './address.ts';

const CONNECT_WITHIN_MS = 10_000;
const END_WITHIN_MS = 1_000;

/** TCP keep-alive of every connection; without a delay the kernel begins after two hours. */
export const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 } as const;

export interface ConnectOptions {
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string;
  /** Command-line options for the session, as `-c statement_timeout=15s`. */
  readonly options?: string;
  /** Replaces the one of the address. */
  readonly session?: TargetSession;
  /** How long connecting may take, to all servers together. Default 10 s. */
  readonly connectWithinMs?: number;
  /** Ends the attempt, which then rejects with its reason. */
  readonly signal?: AbortSignal;
}

/** A session of its own, to be ended with `endSession`. */
export interface PostgresSession {
  readonly client: Client;
  /** Destroying it breaks the connection at once, whatever the client waits for. */
  readonly socket: Socket;
  readonly host: PostgresHost;
}

/**
 * Connects to the first server of an address that answers and takes such sessions.
 * @throws the server's error where there is one server, else an Error that names each and why it was not taken
 */
export function connectPostgres(url: string, options: ConnectOptions): Promise<PostgresSession> {
  return connectToAddress(parsePostgresUrl(url), options);
}

/** The same for an address that was read before. */
export async function connectToAddress(
  address: PostgresAddress,
  options: ConnectOptions,
): Promise<PostgresSession> {
  const { hosts } = address;
  const session = options.session ?? address.session;
  const { connectWithinMs = CONNECT_WITHIN_MS } = options;
  const withinMs = shareOfHost(address, connectWithinMs);
  const failures: string[] = [];
  for (const host of hosts) {
    try {
      return await connectToHost(host, session, withinMs, options);
    } catch (error) {
      options.signal?.throwIfAborted();
      if (hosts.length === 1) throw error;
      failures.push(`${host.name}: ${reasonOf(error)}`);
    }
  }
  throw new Error(`No server of the address can be used: ${failures.join('; ')}`);
}

/**
 * How much of the time for connecting one host may take, in milliseconds. Several share it, so that the last one is reached too; a part
 * is left to whoever uses the session.
 */
export function shareOfHost({ hosts }: PostgresAddress, connectWithinMs: number): number {
  return hosts.length === 1 ? connectWithinMs : connectWithinMs / (hosts.length + 1);
}

/** Ends a connection whose server does not answer in time. @returns ends the waiting */
export function limitAnswer(socket: Duplex, withinMs: number): () => void {
  const late = setTimeout(
    () => socket.destroy(new Error(`no answer within ${(withinMs / 1_000).toFixed(1)} s`)),
    withinMs,
  );
  return () => clearTimeout(late);
}

/** Where a name has several addresses and none answers, Node's error has a code alone. */
function reasonOf(error: unknown): string {
  const { message = '', code = 'unknown error' } = error as { message?: string; code?: string };
  return message === '' ? code : message;
}

async function connectToHost(
  host: PostgresHost,
  session: TargetSession,
  withinMs: number,
  { applicationName, options, signal }: ConnectOptions,
): Promise<PostgresSession> {
  signal?.throwIfAborted();
  const socket = new Socket();
  const config: ClientConfig = {
    connectionString: host.url,
    application_name: applicationName,
    ...KEEP_ALIVE,
    ...(options !== undefined && { options }),
    stream: () => socket,
  };
  const client = new Client(config);
  // Whoever waits for the client learns of its errors.
  client.on('error', () => undefined);
  const answered = limitAnswer(socket, withinMs);
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
    answered();
    signal?.removeEventListener('abort', abort);
  }
}

/** Throws where a session is not with such a server. */
export async function checkSession(client: Pick<Client, 'query'>, session: TargetSession): Promise<void> {
  if (session === 'any') return;
  const { rows } = await client.query<{ standby: boolean; read_only: boolean }>(
    `select pg_is_in_recovery() as standby, current_setting('transaction_read_only')::bool as read_only`,
  );
  if (rows[0]?.standby !== false) throw new Error('it is a standby, which only reads');
  if (session === 'read-write' && rows[0].read_only) throw new Error('its sessions only read');
}

/** Says goodbye, so that Postgres ends the session at once; of a connection without an answer only the socket is closed. */
export async function endSession({
  client,
  socket,
}: Pick<PostgresSession, 'client' | 'socket'>): Promise<void> {
  const late = setTimeout(() => socket.destroy(), END_WITHIN_MS);
  await client.end();
  clearTimeout(late);
}
