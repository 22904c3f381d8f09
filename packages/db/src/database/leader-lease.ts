import { connectPostgres, endSession, type PostgresSession } from '@tocsin/runtime/postgres/connect';
import { drizzle } from 'drizzle-orm/node-postgres';
import type { Client } from 'pg';
import { z } from 'zod';
import { queryOne } from './sql.ts';

/** Timing of heartbeats, in milliseconds. */
const TIMING = {
  /** Time from the response to one heartbeat to the next heartbeat. */
  heartbeatMs: 2_000,
  /** A leader counts as leader for this long after its last heartbeat that got a response. */
  validMs: 8_000,
  /** PostgreSQL ends the session and its lock this long after the last heartbeat. More than `validMs`. */
  sessionMs: 10_000,
};
type LeaseTiming = Readonly<typeof TIMING>;

/**
 * Tries to become the leader of `lockKey` on a direct connection. Returns null if another session holds the lock. If PostgreSQL stops
 * responding, leadership is lost a little before PostgreSQL ends the silent session. @param signal ends the attempt, which then rejects with
 * its reason
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
    // A standby has separate locks.
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

  /** @param sentAt when the query that acquired the lock was sent, by `performance.now()` */
  constructor(session: PostgresSession, timing: LeaseTiming, sentAt: number) {
    this.#session = session;
    this.#timing = timing;
    this.#validUntil = sentAt;
    session.client.on('error', () => this.#lose());
    session.client.on('end', () => this.#lose());
    this.#confirm(sentAt);
  }

  /** False as soon as another session may hold the lock. */
  isAlive(): boolean {
    // In a process that was suspended, the timer has not fired yet.
    return !this.#over && performance.now() < this.#validUntil;
  }

  /** Calls back once when leadership is lost without `release`, or immediately if it already is. */
  onLost(callback: () => void): void {
    if (this.#lost) callback();
    else this.#notify = callback;
  }

  /** Ends the session within a second, even on a broken connection. */
  async release(): Promise<void> {
    this.#end();
    await endSession(this.#session);
  }

  /** Extends the lease. PostgreSQL received the query after `sentAt`, so its timer for this session started later. */
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

export const ADVISORY_LOCKS = {
  migrations: 8_262_001,
  reconciler: 8_262_002,
  partitions: 8_262_003,
  /** The second key is a hash of account and source. */
  monitorSets: 8_262_004,
  /** The second key is a hash of account and Idempotency-Key. */
  idempotencyKeys: 8_262_005,
  /** The second key is a hash of the account. */
  assignments: 8_262_006,
  packing: 8_262_007,
  /** Takes the key of the region as its second key (see `regionLockKey`). */
  regions: 8_262_008,
} as const;
