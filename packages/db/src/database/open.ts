import { Socket } from 'node:net';
import { drizzle, type NodePgDatabase, type NodePgTransaction } from 'drizzle-orm/node-postgres';
import type { ExtractTablesWithRelations } from 'drizzle-orm';
import { Pool } from 'pg';

import { PreparingClient } from './preparing-client.ts';

type NoSchema = Record<string, never>;
export type Database = NodePgDatabase<NoSchema>;
export type Transaction = NodePgTransaction<NoSchema, ExtractTablesWithRelations<NoSchema>>;
/** Where a single statement may run: on the pool or inside a transaction. */
export type Queryable = Database | Transaction;

export interface OpenDatabase {
  readonly db: Database;
  readonly pool: Pool;
  /** Throws where Postgres does not answer: the readiness check of every service. */
  ping(): Promise<void>;
  close(): Promise<void>;
  /** Breaks every connection, those too that are asked for later: a service that stops waits for none that does not answer. */
  abandon(): void;
}

export interface OpenDatabaseOptions {
  readonly url: string;
  readonly poolSize: number;
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string;
  /** Errors of idle connections (a Postgres restart); the pool replaces those by itself. */
  readonly onIdleError: (error: Error) => void;
  /**
   * Whether `url` leads to a transaction pooler, which takes no session settings: there `SESSION_LIMITS` must be set on the
   * role. Default false.
   */
  readonly throughPooler?: boolean;
}

/**
 * No process may hold up the others for long: one that is frozen within a transaction loses its session and its locks, and
 * one whose machine vanished is noticed.
 */
const SESSION_LIMITS = [
  'statement_timeout=15s',
  'lock_timeout=5s',
  'idle_in_transaction_session_timeout=10s',
  'tcp_keepalives_idle=10',
  'tcp_keepalives_interval=5',
  'tcp_keepalives_count=3',
]
  .map((setting) => `-c ${setting}`)
  .join(' ');

/** Longer than any statement may take; idle connections are closed before. */
const SILENT_CONNECTION_MS = 20_000;
const IDLE_CONNECTION_MS = 10_000;

/** Opens the connection pool; connections are made when first needed. */
export function openDatabase(options: OpenDatabaseOptions): OpenDatabase {
  const sockets = new Sockets();
  const pool = new Pool({
    connectionString: options.url,
    max: options.poolSize,
    application_name: options.applicationName,
    ...(options.throughPooler !== true && { options: SESSION_LIMITS, Client: PreparingClient }),
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: IDLE_CONNECTION_MS,
    keepAlive: true,
    stream: () => sockets.open(),
  });
  pool.on('error', options.onIdleError);
  // A session that ends between two statements of a transaction fails the next one; unheard, it would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return {
    db: openDrizzle(pool),
    pool,
    ping: async () => void (await pool.query('select 1')),
    close: () => pool.end(),
    abandon: () => sockets.abandon(),
  };
}

/**
 * Drizzle on a pool, but for its transactions: those of its own lose a connection of the pool for good where `begin` fails, as
 * it does on one that has just broken; after a few restarts of Postgres the process would have none left.
 */
function openDrizzle(pool: Pool): Database {
  const transaction: Database['transaction'] = async (work, config) => {
    const client = await pool.connect();
    let begun = false;
    try {
      return await drizzle(client).transaction((tx) => {
        begun = true;
        return work(tx);
      }, config);
    } finally {
      client.release(!begun);
    }
  };
  return Object.assign(drizzle(pool), { transaction });
}

/** The sockets of a pool. */
class Sockets {
  readonly #open = new Set<Socket>();
  #abandoned = false;

  /** A socket that breaks when Postgres says nothing for too long: a half-open connection must not hang its user. */
  open(): Socket {
    const socket = new Socket();
    socket.setTimeout(SILENT_CONNECTION_MS, () => {
      socket.destroy(new Error(`Postgres has been silent for ${SILENT_CONNECTION_MS / 1_000} s`));
    });
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
    // After the call that connects it.
    if (this.#abandoned) setImmediate(breakSocket, socket);
    return socket;
  }

  abandon(): void {
    this.#abandoned = true;
    for (const socket of this.#open) breakSocket(socket);
  }
}

function breakSocket(socket: Socket): void {
  socket.destroy(new Error('The service stops'));
}
