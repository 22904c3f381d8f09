import { setTimeout as wait } from 'node:timers/promises';
import type { Client } from 'pg';
import type { Stores } from './stores.ts';

/** Where a transaction can be held before it commits: after it has written there. */
const HOLDS = {
  'monitor created': { key: 7_700_001, trigger: 'insert on monitors' },
  'checks recorded': { key: 7_700_002, trigger: 'insert on events' },
  'status change fanned out': { key: 7_700_003, trigger: 'insert on deliveries' },
  'attempt recorded': { key: 7_700_004, trigger: 'insert on attempts' },
  'monitor updated': { key: 7_700_005, trigger: 'update on monitors' },
  'monitor deleted': { key: 7_700_006, trigger: 'delete on monitors' },
  'maintenance planned': { key: 7_700_007, trigger: 'insert on maintenance_windows' },
  'delivery redelivered': { key: 7_700_008, trigger: 'update on deliveries' },
} as const;
export type HoldPoint = keyof typeof HOLDS;

/** How long all transactions may be held there at a time; theirs end by themselves after 5 s. */
export const HELD_MS = 2_000;
const LOOK_EVERY_MS = 10;
const REST_MS = 200;

/** Lets transactions be held: each waits at these points while we have its lock to ourselves. */
export async function installHolds(stores: Stores): Promise<void> {
  await stores.query(`
    create schema chaos;
    create function chaos.pass() returns trigger language plpgsql as $$
    begin
      perform pg_advisory_xact_lock_shared(tg_argv[0]::bigint);
      return null;
    end $$;
    ${Object.values(HOLDS)
      .map(
        ({ key, trigger }) =>
          `create trigger chaos_hold_${key} after ${trigger} for each statement execute function chaos.pass('${key}');`,
      )
      .join('\n')}`);
}

/** What to do while transactions are held. */
export interface WhileHeld {
  /** Called each time that they begin to be. */
  readonly onHeld: () => void;
  /** Called when one that is waited for is there, with its name; false: it is to be waited for again. */
  readonly onReached: (replica: string) => Promise<boolean>;
}

/**
 * Waits until the session of this replica is about to commit there, and calls back while it is kept from it.
 * @returns whether that came about in time
 */
export async function holdCommit(
  stores: Stores,
  point: HoldPoint,
  replica: string,
  withinMs: number,
  whileHeld: WhileHeld,
): Promise<boolean> {
  const deadline = Date.now() + withinMs;
  while (Date.now() < deadline) {
    // Postgres may be away, or be taken away meanwhile.
    const hit = await holdOnce(stores, point, [replica], whileHeld).catch(() => false);
    if (hit) return true;
    await wait(REST_MS);
  }
  return false;
}

/**
 * Holds all transactions there for a moment, and calls back when one of these replicas is about to commit.
 * @returns whether that came about
 * @throws Error where Postgres is away
 */
export async function holdOnce(
  stores: Stores,
  point: HoldPoint,
  replicas: readonly string[],
  whileHeld: WhileHeld,
): Promise<boolean> {
  const client = await stores.connect();
  try {
    await client.query(`set lock_timeout = '${HELD_MS}ms'`);
    await client.query('select pg_advisory_lock($1)', [HOLDS[point].key]);
    whileHeld.onHeld();
    const until = Date.now() + HELD_MS;
    while (Date.now() < until) {
      const held = await heldAt(client, point, replicas);
      if (held !== null) return await whileHeld.onReached(held);
      await wait(LOOK_EVERY_MS);
    }
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Which of these replicas is held there; null: none is. */
async function heldAt(client: Client, point: HoldPoint, replicas: readonly string[]): Promise<string | null> {
  const { rows } = await client.query<{ name: string }>(
    `select a.application_name as name from pg_locks l join pg_stat_activity a using (pid)
     where l.locktype = 'advisory' and not l.granted and l.objid = $1 and a.application_name = any($2)`,
    [HOLDS[point].key, replicas],
  );
  return rows[0]?.name ?? null;
}
