import type { SecretBox } from '@tocsin/core/secrets/secret-box';
import { checkSession } from '@tocsin/runtime/postgres/connect';
import { openPostgresPool } from '@tocsin/runtime/postgres/pool';
import { type ExtractTablesWithRelations, sql } from 'drizzle-orm';
import { drizzle, type NodePgDatabase, type NodePgTransaction } from 'drizzle-orm/node-postgres';
import type { Pool } from 'pg';
import { PreparingClient } from './preparing-client.ts';

/** Context of queries that read or write secrets. */
export interface DbContext {
  readonly db: Database;
  readonly secrets: SecretBox;
}

type NoSchema = Record<string, never>;
export type Database = NodePgDatabase<NoSchema>;
export type Transaction = NodePgTransaction<NoSchema, ExtractTablesWithRelations<NoSchema>>;
/** The pool or a transaction. */
export type Queryable = Database | Transaction;

export interface OpenDatabase {
  readonly db: Database;
  readonly pool: Pool;
  /** Readiness check of every service. @throws Error if PostgreSQL does not respond or is read-only */
  ping(): Promise<void>;
  close(): Promise<void>;
  /** Breaks every connection, including later ones, so that a shutdown does not wait for a dead one. */
  abandon(): void;
}

export interface OpenDatabaseOptions {
  /** URL with one server or several (see `parsePostgresUrl`). */
  readonly url: string;
  readonly poolSize: number;
  readonly applicationName: string;
  /** Called with errors of idle connections, as after a restart of PostgreSQL. The pool replaces these connections by itself. */
  readonly onIdleError: (error: Error) => void;
  /** True if `url` leads to a transaction pooler. It accepts no session settings, so set `SESSION_LIMITS` on the role. Defaults to false. */
  readonly throughPooler?: boolean;
  /** Prefers indexes even for small tables, because a prepared plan outlives their growth. Has no effect through a pooler. Defaults to false. */
  readonly avoidsScans?: boolean;
}

/** With these limits, a process that freezes in a transaction, or whose machine disappears, loses its session and locks. */
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

/** Longer than any statement may take. */
const SILENT_CONNECTION_MS = 20_000;
/** An idle session costs memory, but a new one has to plan its statements again. */
const IDLE_CONNECTION_MS = 120_000;

/** Opens the connection pool. Connections are made when first needed. */
export function openDatabase(options: OpenDatabaseOptions): OpenDatabase {
  const opened = openPostgresPool(options.url, {
    max: options.poolSize,
    application_name: options.applicationName,
    // With `pipeline`, a statement is sent without waiting for the response to the previous one (see `inOneRoundTrip`).
    ...(options.throughPooler !== true && {
      options: options.avoidsScans === true ? `${SESSION_LIMITS} -c enable_seqscan=off` : SESSION_LIMITS,
      Client: PreparingClient,
      pipeline: true,
    }),
    idleTimeoutMillis: IDLE_CONNECTION_MS,
    silentMs: SILENT_CONNECTION_MS,
  });
  const { pool } = opened;
  pool.on('error', options.onIdleError);
  return {
    db: openDrizzle(pool),
    pool,
    ping: () => checkSession(pool, 'read-write'),
    close: () => pool.end(),
    abandon: () => opened.abandon(),
  };
}

/** Replaces Drizzle's own transactions, which leak a connection of the pool if `begin` fails, as on a broken connection. */
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

export function readSnapshot<Result>(
  db: Database,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  return db.transaction(work, { isolationLevel: 'repeatable read', accessMode: 'read only' });
}

/** @throws Error if PostgreSQL does not respond */
export async function ping(db: Queryable): Promise<void> {
  await db.execute(sql`select 1`);
}
