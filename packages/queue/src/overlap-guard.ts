import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import { withDeadline } from './deadline.ts';
import { KEY_PREFIX } from './queue-store.ts';
import type { RedisClient } from './redis-store.ts';

/** Lets go of a check that was entered. Where the store fails, it tries again until the hold is over, and rejects then. */
export type Leave = () => Promise<void>;

/**
 * Keeps two processes from running the same monitor's check in the same region at once, where a check may last longer than
 * half its interval (design §4 "Slot").
 */
export interface OverlapGuard {
  /**
   * @param jobId who enters: the same job enters again, since its process may have been killed
   * @param forMs after which the check counts as over even if nobody left: its process was killed
   * @param withinMs how long the store may take
   * @returns null where another process is in
   * @throws Error where the store fails or takes longer: what it does afterwards all the same is undone
   */
  enter(
    region: string,
    monitorId: string,
    jobId: string,
    forMs: number,
    withinMs: number,
  ): Promise<Leave | null>;
}

/** A process that was killed leaves its row to others: they delete those that are over so often. */
const SWEEP_EVERY_MS = 60_000;
/** After a failed attempt to leave: a check of a few seconds may end while the connection is being made again. */
const LEAVE_AGAIN_MS = 1_000;

/** @param forMs after which the hold is over by itself */
function retryUntilOver(leave: Leave, forMs: number): Leave {
  const overAt = performance.now() + forMs;
  return async () => {
    for (;;) {
      try {
        return await leave();
      } catch (error) {
        if (performance.now() >= overAt) throw error;
      }
      // The process does not wait for it.
      await delay(LEAVE_AGAIN_MS, undefined, { ref: false });
    }
  };
}

/** @param leave undoes what `entering` does, and nothing where another job is in */
async function enterInTime(
  entering: Promise<boolean>,
  leave: Leave,
  withinMs: number,
): Promise<Leave | null> {
  try {
    return (await withDeadline(entering, withinMs, 'entering a check')) ? leave : null;
  } catch (error) {
    // The store may do later, or have done, what nobody waits for: it would keep the next checks of the monitor out.
    entering.then(leave, leave).catch(() => undefined);
    throw error;
  }
}

const ENTER_SCRIPT = `
local holder = redis.call('get', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
return 1`;
const LEAVE_SCRIPT = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`;

export class RedisOverlapGuard implements OverlapGuard {
  readonly #client: RedisClient;

  constructor(client: RedisClient) {
    this.#client = client;
  }

  enter(
    region: string,
    monitorId: string,
    jobId: string,
    forMs: number,
    withinMs: number,
  ): Promise<Leave | null> {
    const key = `${KEY_PREFIX}:running:${region}:${monitorId}`;
    const enter = async (): Promise<boolean> =>
      (await this.#client.eval(ENTER_SCRIPT, 1, key, jobId, forMs)) === 1;
    const leave = async (): Promise<void> => void (await this.#client.eval(LEAVE_SCRIPT, 1, key, jobId));
    return enterInTime(enter(), retryUntilOver(leave, forMs), withinMs);
  }
}

export class PostgresOverlapGuard implements OverlapGuard {
  readonly #pool: Pool;
  #sweptAt = -Infinity;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  enter(
    region: string,
    monitorId: string,
    jobId: string,
    forMs: number,
    withinMs: number,
  ): Promise<Leave | null> {
    const enter = async (): Promise<boolean> => {
      const { rowCount } = await this.#pool.query(
        `insert into tocsin_running_checks as r (region, monitor_id, job_id, until)
         values ($1, $2, $3, now() + make_interval(secs => $4::float8 / 1000))
         on conflict (region, monitor_id) do update set job_id = excluded.job_id, until = excluded.until
         where r.until <= now() or r.job_id = excluded.job_id`,
        [region, monitorId, jobId, forMs],
      );
      return rowCount === 1;
    };
    const leave = async (): Promise<void> => {
      await this.#pool.query(
        'delete from tocsin_running_checks where region = $1 and monitor_id = $2 and job_id = $3',
        [region, monitorId, jobId],
      );
    };
    this.#sweep();
    return enterInTime(enter(), retryUntilOver(leave, forMs), withinMs);
  }

  #sweep(): void {
    if (performance.now() - this.#sweptAt < SWEEP_EVERY_MS) return;
    this.#sweptAt = performance.now();
    this.#pool.query('delete from tocsin_running_checks where until <= now()').catch(() => undefined);
  }
}
