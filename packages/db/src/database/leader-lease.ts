import { connectPostgres, endSession, type PostgresSession } from '@tocsin/runtime/postgres/connect';
import { drizzle } from 'drizzle-orm/node-postgres';
import type { Client } from 'pg';
import { z } from 'zod';
import { queryOne } from './sql.ts';

/** How a lease is kept alive, in milliseconds. */
const TIMING = {
  /** From the response to one heartbeat to the next heartbeat. */
  heartbeatMs: 2_000,
  /** A lease is lost this long after the last heartbeat with a response was sent. */
  validMs: 8_000,
  /** Postgres ends the session, and with it the lock, this long after the last heartbeat: more than `validMs`. */
  sessionMs: 10_000,
};
type LeaseTiming = Readonly<typeof TIMING>;

/**
 * Tries to become the leader of `lockKey` on a direct connection, without a transaction pooler; null if another session holds the lock.
 * If Postgres stops responding, the lease is lost a little before Postgres ends the silent session.
 * @param signal ends the attempt, which then rejects with its reason
 */
export async function acquireLeaderLease(
  url: string,
  lockKey: number,
  signal: AbortSignal,
  timing: LeaseTiming = TIMING,
): Promise<LeaderLease | null> {
  const session = await connectPostgres(url, {
    applicationName: 'tocsin leader',
    options: `-c idle_session_timeout=${timing.sessionMs}`,
    // A standby has its own locks.
    session: 'primary',
    signal,
  });
  const abort = (): void => void session.socket.destroy();
  signal.addEventListener('abort', abort, { once: true });
  try {
    signal.throwIfAborted();
    const sentAt = performance.now();
    if (await tryAdvisoryLock(session.client, lockKey)) return new LeaderLease(session, timing, sentAt);
  } catch (error) {
    session.socket.destroy();
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', abort);
  }
  await endSession(session);
  return null;
}

/** Tries to take an advisory lock, which ends with the session. */
export async function tryAdvisoryLock(client: Client, lockKey: number): Promise<boolean> {
  const { locked } = await queryOne(drizzle(client), z.object({ locked: z.boolean() }))`
    select pg_try_advisory_lock(${lockKey}) as locked`;
  return locked;
}

/** Leadership by a session-level advisory lock. */
export class LeaderLease {
  readonly #session: PostgresSession;
  readonly #timing: LeaseTiming;
  #validUntil: number;
  #over = false;
  #lost = false;
  #expiry: NodeJS.Timeout | undefined;
  #nextHeartbeat: NodeJS.Timeout | undefined;
  #notify: (() => void) | undefined;

  /** @param sentAt when the query was sent that acquired the lock, by `performance.now()` */
  constructor(session: PostgresSession, timing: LeaseTiming, sentAt: number) {
    this.#session = session;
    this.#timing = timing;
    this.#validUntil = sentAt;
    session.client.on('error', () => this.#lose());
    session.client.on('end', () => this.#lose());
    this.#confirm(sentAt);
  }

  /** False from the moment at which another session may hold the lock. */
  isAlive(): boolean {
    // The timer alone is not enough: in a process that was suspended, it has not fired yet.
    return !this.#over && performance.now() < this.#validUntil;
  }

  /** Calls back once when the lease is lost without `release`; immediately if it already is. */
  onLost(callback: () => void): void {
    if (this.#lost) callback();
    else this.#notify = callback;
  }

  /** Ends the session within a second, even on a broken connection. */
  async release(): Promise<void> {
    this.#end();
    await endSession(this.#session);
  }

  /** Postgres received the query after `sentAt`, so its timer for this session started later. */
  #confirm(sentAt: number): void {
    if (this.#over) return;
    clearTimeout(this.#expiry);
    this.#validUntil = sentAt + this.#timing.validMs;
    this.#expiry = setTimeout(() => this.#lose(), this.#validUntil - performance.now());
    this.#nextHeartbeat = setTimeout(() => void this.#beat(), this.#timing.heartbeatMs);
  }

  async #beat(): Promise<void> {
    const sentAt = performance.now();
    try {
      await this.#session.client.query('select 1');
      this.#confirm(sentAt);
    } catch {
      this.#lose();
    }
  }

  #lose(): void {
    if (this.#over) return;
    this.#end();
    this.#lost = true;
    this.#session.socket.destroy();
    this.#notify?.();
  }

  #end(): void {
    this.#over = true;
    clearTimeout(this.#expiry);
    clearTimeout(this.#nextHeartbeat);
  }
}

/** The keys of all advisory locks. */
export const ADVISORY_LOCKS = {
  migrations: 8_262_001,
  reconciler: 8_262_002,
  partitions: 8_262_003,
  /** With a second key: the hash of account and source. */
  monitorSets: 8_262_004,
  /** With a second key: the hash of account and Idempotency-Key. */
  idempotencyKeys: 8_262_005,
  /** With a second key: the hash of the account. */
  assignments: 8_262_006,
  packing: 8_262_007,
} as const;
