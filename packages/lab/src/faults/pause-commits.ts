import { seenBefore } from '@tocsin/embedded/testing/until';
import type { Stores } from '../stores.ts';

/** A transaction can be paused after these statements, before it commits. */
const PAUSE_POINTS = [
  'insert on monitors',
  'update on monitors',
  'delete on monitors',
  'insert on channel_monitors',
  'insert on maintenance_windows',
  'insert on events',
  'insert on deliveries',
  'update on deliveries',
  'insert on attempts',
] as const;
export type PausePoint = (typeof PAUSE_POINTS)[number];

/** Transactions are paused for this time. Services end their transactions after 5 s. */
const PAUSE_MS = 2_000;
const POLL_MS = 10;

/** Makes transactions wait at each point while another session holds its lock. */
export async function installPauses(stores: Stores): Promise<void> {
  const triggers = PAUSE_POINTS.map((point, key) => {
    return `create trigger lab_pause_${key} after ${point} for each statement execute function lab.pass('${lockOf(point)}');`;
  });
  await stores.query(`
    create schema lab;
    create function lab.pass() returns trigger language plpgsql as $$
    begin
      perform pg_advisory_xact_lock_shared(tg_argv[0]::bigint);
      return null;
    end $$;
    ${triggers.join('\n')}`);
}

/** Returns a key that the product does not use. */
function lockOf(point: PausePoint): number {
  return 7_700_001 + PAUSE_POINTS.indexOf(point);
}

interface Pause {
  readonly point: PausePoint;
  /** Names of the replicas whose transaction is hit. */
  readonly replicas: readonly string[];
  readonly when: 'before-commit' | 'after-commit';
  /** Called once transactions wait at the point. */
  readonly onPausing?: () => void;
  /** Hits the replicas. False if they cannot be hit at the moment. */
  readonly hit: () => Promise<boolean>;
}

/**
 * Pauses all transactions at a point for a moment. If this includes one of these replicas, hits it right before or after the commit.
 * @returns true if it was hit
 * @throws Error while Postgres is unavailable
 */
export async function hitAtCommit(
  stores: Stores,
  { point, replicas, when, ...pause }: Pause,
): Promise<boolean> {
  const key = lockOf(point);
  const client = await stores.connect();
  const isPaused = async (): Promise<boolean> => {
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
    pause.onPausing?.();
    if ((await seenBefore(Date.now() + PAUSE_MS, isPaused, POLL_MS)) === null) return false;
    if (when === 'after-commit') {
      // The paused transactions acquire their locks at once, and keep them until they end.
      await client.query('select pg_advisory_unlock($1)', [key]);
      await client.query('select pg_advisory_lock($1)', [key]);
    }
    return await pause.hit();
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
