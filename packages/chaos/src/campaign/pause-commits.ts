import { seenBefore } from '@tocsin/embedded/testing/until';
import type { Stores } from '@tocsin/lab/stores';

/** The points at which a transaction can be held: after this write, before it commits. */
const PAUSE_POINTS = {
  'monitor created': { key: 7_700_001, trigger: 'insert on monitors' },
  'checks recorded': { key: 7_700_002, trigger: 'insert on events' },
  'status change fanned out': { key: 7_700_003, trigger: 'insert on deliveries' },
  'attempt recorded': { key: 7_700_004, trigger: 'insert on attempts' },
  'monitor updated': { key: 7_700_005, trigger: 'update on monitors' },
  'monitor deleted': { key: 7_700_006, trigger: 'delete on monitors' },
  'maintenance planned': { key: 7_700_007, trigger: 'insert on maintenance_windows' },
  'channel assigned': { key: 7_700_009, trigger: 'insert on channel_monitors' },
  'delivery redelivered': { key: 7_700_008, trigger: 'update on deliveries' },
} as const;
export type PausePoint = keyof typeof PAUSE_POINTS;

/** How long transactions are held at a time; those of services end by themselves after 5 s. */
export const PAUSE_MS = 2_000;
const POLL_MS = 10;
const RETRY_MS = 200;

/** Makes transactions wait at these points while another session holds the lock of the point. */
export async function installHolds(stores: Stores): Promise<void> {
  const triggers = Object.values(PAUSE_POINTS).map(
    ({ key, trigger }) =>
      `create trigger chaos_hold_${key} after ${trigger} for each statement execute function chaos.pass('${key}');`,
  );
  await stores.query(`
    create schema chaos;
    create function chaos.pass() returns trigger language plpgsql as $$
    begin
      perform pg_advisory_xact_lock_shared(tg_argv[0]::bigint);
      return null;
    end $$;
    ${triggers.join('\n')}`);
}

/** What to do while transactions are held. */
interface WhileHeld {
  /** Called each time after the lock was acquired. */
  readonly onPaused?: () => void;
  /** Called when the awaited transaction waits; false: another one is awaited. */
  readonly onReached: () => Promise<boolean>;
}

/**
 * Waits until the session of this replica is about to commit there, and calls back while it is held.
 * @returns whether that happened in time
 */
export async function pauseCommit(
  stores: Stores,
  point: PausePoint,
  replica: string,
  withinMs: number,
  whilePaused: WhileHeld,
): Promise<boolean> {
  // Postgres may be unavailable, or become so meanwhile.
  const hold = (): Promise<boolean> => pauseOnce(stores, point, [replica], whilePaused).catch(() => false);
  return withinMs > 0 && (await seenBefore(Date.now() + withinMs, hold, RETRY_MS)) !== null;
}

/**
 * Holds all transactions there for a moment, and calls back when one of these replicas is about to commit.
 * @returns whether that happened
 * @throws Error while Postgres is unavailable
 */
export async function pauseOnce(
  stores: Stores,
  point: PausePoint,
  replicas: readonly string[],
  { onPaused, onReached }: WhileHeld,
): Promise<boolean> {
  const { key } = PAUSE_POINTS[point];
  const client = await stores.connect();
  const isAnyPaused = async (): Promise<boolean> => {
    const { rows } = await client.query(
      `select from pg_locks l join pg_stat_activity a using (pid)
       where l.locktype = 'advisory' and not l.granted and l.objid = $1 and a.application_name = any($2)`,
      [key, replicas],
    );
    return rows.length > 0;
  };
  try {
    await client.query(`set lock_timeout = '${PAUSE_MS}ms'`);
    await client.query('select pg_advisory_lock($1)', [key]);
    onPaused?.();
    return (await seenBefore(Date.now() + PAUSE_MS, isAnyPaused, POLL_MS)) !== null && (await onReached());
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Makes Postgres refuse every result of monitors whose external id begins with `poison-`, with an error that is not about the data. */
export async function installPoison(stores: Stores): Promise<void> {
  // A sequence keeps its value when a transaction is rolled back.
  await stores.query(`
    create sequence chaos.refusals;
    create function chaos.refuse_poison() returns trigger language plpgsql as $$
    begin
      if exists (select from public.monitors where id = new.monitor_id and external_id like 'poison-%') then
        perform nextval('chaos.refusals');
        raise exception 'results of this monitor are refused' using errcode = 'P0001';
      end if;
      return new;
    end $$;
    create trigger chaos_poison before insert on events for each row execute function chaos.refuse_poison();`);
}
