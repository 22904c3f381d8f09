import type { Pool } from 'pg';
import { KEY_PREFIX } from './queue-names.ts';
import type { RedisClient } from './redis-client.ts';

/** Lets go of a check that was entered. */
export type Leave = () => Promise<void>;

/**
 * Keeps two processes from running the same monitor's check in the same region at once, where a check may last longer than
 * half its interval (design §4 "Slot").
 */
export interface OverlapGuard {
  /**
   * @param jobId who enters: the same job enters again, since its process may have been killed
   * @param forMs after which the check counts as over even if nobody left: its process was killed
   * @returns null where another process is in
   */
  enter(region: string, monitorId: string, jobId: string, forMs: number): Promise<Leave | null>;
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

  async enter(region: string, monitorId: string, jobId: string, forMs: number): Promise<Leave | null> {
    const key = `${KEY_PREFIX}:running:${region}:${monitorId}`;
    const entered = await this.#client.eval(ENTER_SCRIPT, 1, key, jobId, forMs);
    if (entered !== 1) return null;
    return async () => void (await this.#client.eval(LEAVE_SCRIPT, 1, key, jobId));
  }
}

export class PostgresOverlapGuard implements OverlapGuard {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async enter(region: string, monitorId: string, jobId: string, forMs: number): Promise<Leave | null> {
    const { rowCount } = await this.#pool.query(
      `insert into tocsin_running_checks as r (region, monitor_id, job_id, until)
       values ($1, $2, $3, now() + make_interval(secs => $4::float8 / 1000))
       on conflict (region, monitor_id) do update set job_id = excluded.job_id, until = excluded.until
       where r.until <= now() or r.job_id = excluded.job_id`,
      [region, monitorId, jobId, forMs],
    );
    if (rowCount === 0) return null;
    return async () => {
      await this.#pool.query(
        'delete from tocsin_running_checks where region = $1 and monitor_id = $2 and job_id = $3',
        [region, monitorId, jobId],
      );
    };
  }
}
