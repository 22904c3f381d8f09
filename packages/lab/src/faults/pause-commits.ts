import { seenBefore } from '@tocsin/embedded/testing/until';
import type { Stores } from '../stores.ts';

/** A transaction can be paused after these writes, before it commits. */
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

/** Transactions are paused for this time. Services end their transactions after 5 s. */
export const PAUSE_MS = 2_000;
const POLL_MS = 10;
const RETRY_MS = 200;

/** Makes transactions wait at each point while another session holds its lock. */
export async function installPauses(stores: Stores): Promise<void> {
  const triggers = Object.values(PAUSE_POINTS).map(
    ({ key, trigger }) =>
      `create trigger lab_pause_${key} after ${trigger} for each statement execute function lab.pass('${key}');`,
  );
  await stores.query(`
    create schema lab;
    create function lab.pass() returns trigger language plpgsql as $$
    begin
      perform pg_advisory_xact_lock_shared(tg_argv[0]::bigint);
      return null;
    end $$;
    ${triggers.join('\n')}`);
}

interface WhilePaused {
  /** Called after the lock is acquired. */
  readonly onPaused?: () => void;
  /** Called when a transaction is paused. False waits for another one. */
  readonly onReached: () => Promise<boolean>;
}

/**
 * Waits until a transaction of this replica is paused at a point, and calls back.
 * @returns whether this happened in time
 */
export async function pauseCommit(
  stores: Stores,
  point: PausePoint,
  replica: string,
  withinMs: number,
  whilePaused: WhilePaused,
): Promise<boolean> {
  // Postgres may be unavailable.
  const pause = (): Promise<boolean> => pauseOnce(stores, point, [replica], whilePaused).catch(() => false);
  return withinMs > 0 && (await seenBefore(Date.now() + withinMs, pause, RETRY_MS)) !== null;
}

/**
 * Pauses all transactions at a point for a moment, and calls back when this includes one of these replicas.
 * @returns whether this happened
 * @throws Error while Postgres is unavailable
 */
export async function pauseOnce(
  stores: Stores,
  point: PausePoint,
  replicas: readonly string[],
  { onPaused, onReached }: WhilePaused,
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

/** Makes Postgres reject every result of monitors whose external id starts with `poison-`, with an error that does not concern the data. */
export async function installPoison(stores: Stores): Promise<void> {
  // The count is a sequence, because it survives the rollback.
  await stores.query(`
    create sequence lab.refusals;
    create function lab.refuse_poison() returns trigger language plpgsql as $$
    begin
      if exists (select from public.monitors where id = new.monitor_id and external_id like 'poison-%') then
        perform nextval('lab.refusals');
        raise exception 'results of this monitor are refused' using errcode = 'P0001';
      end if;
      return new;
    end $$;
    create trigger lab_poison before insert on events for each row execute function lab.refuse_poison();`);
}
