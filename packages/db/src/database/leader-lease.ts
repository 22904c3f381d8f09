import { Client } from 'pg';

/** Leadership held by a session-level advisory lock: it ends with the connection, whatever ends that. */
export interface LeaderLease {
  isAlive(): boolean;
  release(): Promise<void>;
  /** Called once when the lease is lost without `release`. */
  onLost(callback: () => void): void;
}

/**
 * Tries to become the leader of `lockKey`; null where another session holds it. Needs a direct connection, not a transaction
 * pooler's (design §2 `DATABASE_DIRECT_URL`).
 */
export async function acquireLeaderLease(url: string, lockKey: number): Promise<LeaderLease | null> {
  const client = new Client({
    connectionString: url,
    application_name: 'tocsin leader',
    connectionTimeoutMillis: 10_000,
    // A leader whose machine vanished must not keep the lock until TCP gives up: the server has to notice.
    options: '-c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3',
    keepAlive: true,
  });
  let alive = true;
  let notify: (() => void) | undefined;
  const lost = (): void => {
    if (alive) notify?.();
    alive = false;
  };
  client.on('error', lost);
  client.on('end', lost);
  try {
    await client.connect();
    const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [
      lockKey,
    ]);
    if (rows[0]?.locked === true) {
      return {
        isAlive: () => alive,
        onLost: (callback) => {
          notify = callback;
        },
        release: async () => {
          alive = false;
          await client.end();
        },
      };
    }
  } catch (error) {
    await client.end().catch(lost);
    throw error;
  }
  await client.end();
  return null;
}

/** The advisory locks of the system, each stated once. */
export const ADVISORY_LOCKS = {
  migrations: 8_262_001,
  reconciler: 8_262_002,
  partitions: 8_262_003,
  /** With a second key: the hash of account and source. */
  monitorSets: 8_262_004,
  /** With a second key: the hash of account and Idempotency-Key. */
  idempotencyKeys: 8_262_005,
} as const;
