import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import type { MigrationWait } from '@tocsin/db/database/apply-migrations';
import { ADVISORY_LOCKS } from '@tocsin/db/database/leader-lease';
import { migrate, MIGRATIONS } from '@tocsin/db/database/migrate';
import { readMigrations } from '@tocsin/db/database/read-migrations';
import { createTemporaryFolder } from '@tocsin/embedded/testing/temporary-folder';
import { until } from '@tocsin/embedded/testing/until';
import { sql } from 'drizzle-orm';
import { Client } from 'pg';
import {
  addFirstMonitor,
  checkOf,
  countMigrations,
  LATER_MIGRATIONS as LATER,
  makeMigrationFolder,
  openEmptyContext,
  type TestContext,
  untilWaiting,
} from './harness.ts';

const all = readMigrations(MIGRATIONS);
const PATIENCE = { lockTimeoutMs: 100, pauseMs: 10, maxWaitMs: 600_000 };

let context: TestContext;
/** Another session, whose transaction stays open. */
let holder: Client;
let waits: MigrationWait[];
const onWait = (wait: MigrationWait): unknown => waits.push(wait);

const folder = await createTemporaryFolder();
afterAll(() => folder.remove());

beforeEach(async () => {
  context = await openEmptyContext();
  holder = new Client({ connectionString: context.url, application_name: 'a report' });
  await holder.connect();
  waits = [];
});
afterEach(async () => {
  await holder.end();
  await context.close();
});

/** Migrates to this version, and then holds a lock in another transaction. @returns a folder with later migrations */
async function holdLock(table: string): Promise<string> {
  await migrate(context.url);
  await holder.query('begin');
  await holder.query(`lock table ${table} in row exclusive mode`);
  return makeMigrationFolder(folder.path, LATER);
}

/** Counts the later migrations that are applied. */
async function countLater(): Promise<number> {
  return (await countMigrations(context)) - all.length;
}

/** Waits until a migrator waits for a lock. */
async function untilMigrationWaits(): Promise<void> {
  await until('the migration to wait', async () => {
    const { rowCount } = await context.db.execute(sql`
      select from pg_stat_activity where datname = current_database() and application_name = 'tocsin migrations'
        and wait_event_type = 'Lock'`);
    return rowCount === 1;
  });
}

async function pidOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid ?? NaN;
}

/** Reports whether a migration has named this session as blocking. */
function hasNamed(pid: number): boolean {
  return waits.some(({ blockedBy }) => blockedBy.some((session) => session.pid === pid));
}

describe('while another transaction holds a lock that a migration needs', () => {
  // A transaction that has written to the table and not committed holds the lock.
  test.each([
    ['monitors', '9001_monitor-note'],
    ['deliveries', '9002_delivery-index'],
  ])('of %s: checks are recorded, and the migration completes afterwards', async (table, tag) => {
    const folder = await holdLock(table);
    const id = await addFirstMonitor(context);
    const migrating = migrate(context.url, { folder, patience: PATIENCE, onWait });
    await untilMigrationWaits();
    expect(await recordChecks(context.db, [checkOf(id)])).toMatchObject([{ kind: 'recorded' }]);
    const pid = await pidOf(holder);
    await until('the migration to name the session', () => hasNamed(pid));
    expect(new Set(waits.map(({ migration }) => migration))).toEqual(new Set([tag]));
    expect(await recordChecks(context.db, [checkOf(id)])).toMatchObject([{ kind: 'recorded' }]);
    await holder.query('commit');
    await migrating;
    expect(await countLater()).toBe(LATER.length);
  });

  test.each([
    ['monitors', 0],
    ['deliveries', 1],
  ])(
    'of %s for too long: the migration fails, names the session, and can be run again',
    async (table, applied) => {
      const folder = await holdLock(table);
      const pid = await pidOf(holder);
      const patience = {
        ...PATIENCE,
        /** The wait is too long as soon as the migrator has seen this session. Before that, autovacuum may block it. */
        get maxWaitMs() {
          return hasNamed(pid) ? 0 : Infinity;
        },
      };
      await expect(migrate(context.url, { folder, patience, onWait })).rejects.toThrow(
        /^Migration \d{4}_[a-z-]+ did not get its locks\. They are held by: .*session \d+, a report, idle in transaction, /,
      );
      expect(await countLater()).toBe(applied);
      await holder.query('commit');
      await migrate(context.url, { folder });
      expect(await countLater()).toBe(LATER.length);
    },
  );
});

test('the waiting time is limited for a whole run, not for each migration', async () => {
  const folder = await holdLock('deliveries');
  await holder.query('savepoint later');
  await holder.query('lock table monitors in row exclusive mode');
  const pid = await pidOf(holder);
  let clock = 0;
  const steps: Readonly<Record<string, string>> = {
    '9001_monitor-note': 'rollback to savepoint later',
    '9002_delivery-index': 'select',
  };
  const seen = new Set<string>();
  const migrating = migrate(context.url, {
    folder,
    patience: PATIENCE,
    now: () => clock,
    onWait: (wait) => {
      onWait(wait);
      const { migration, blockedBy } = wait;
      const step = steps[migration];
      if (step === undefined || !blockedBy.some((session) => session.pid === pid)) return;
      if (!seen.has(migration)) {
        clock += 400_000;
        void holder.query(step);
      }
      seen.add(migration);
      // If each migration had a separate limit, the run would succeed in the end.
      if (waits.filter((other) => other.migration === '9002_delivery-index').length > 50)
        void holder.query('commit');
    },
  });
  await expect(migrating).rejects.toThrow(
    /^Migration 9002_delivery-index did not get its locks\..* a report, /,
  );
  expect([...seen]).toEqual(Object.keys(steps));
  expect(await countLater()).toBe(1);
});

test('a run that waits too long for its turn fails, or ends when it is interrupted', async () => {
  await holder.query('select pg_advisory_lock($1)', [ADVISORY_LOCKS.migrations]);
  const patience = { ...PATIENCE, maxWaitMs: 0 };
  await expect(migrate(context.url, { patience })).rejects.toThrow(/^Another migration is still running/);
  const interrupted = migrate(context.url, { signal: AbortSignal.abort() });
  await expect(interrupted).rejects.toThrow(/^The migration was interrupted\./);
});

test('a migration locks no table between two tries', async () => {
  const folder = await holdLock('monitors');
  const interruption = new AbortController();
  const migrating = migrate(context.url, {
    folder,
    patience: { ...PATIENCE, pauseMs: 600_000 },
    onWait,
    signal: interruption.signal,
  });
  const ended = expect(migrating).rejects.toThrow(/^The migration was interrupted\./);
  await until('the migration to pause', () => waits.length > 0);
  const { rows } = await context.db.execute(sql`
    select l.relation::regclass::text as held from pg_locks l join pg_stat_activity a using (pid)
    where a.datname = current_database() and a.application_name = 'tocsin migrations' and l.granted and l.locktype = 'relation'
      and l.relation in (select oid from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p'))`);
  interruption.abort();
  await ended;
  expect(rows).toEqual([]);
});

describe('a run that is interrupted', () => {
  test.each([
    ['monitors', 0],
    ['deliveries', 1],
  ])('while it waits for %s ends its statement, and can be run again', async (table, applied) => {
    const folder = await holdLock(table);
    const interruption = new AbortController();
    const migrating = migrate(context.url, {
      folder,
      patience: { ...PATIENCE, lockTimeoutMs: 120_000 },
      signal: interruption.signal,
    });
    const ended = expect(migrating).rejects.toThrow(/^The migration was interrupted\. Run it again/);
    await untilMigrationWaits();
    interruption.abort();
    await ended;
    expect(await countLater()).toBe(applied);
    await holder.query('commit');
    await migrate(context.url, { folder });
    expect(await countLater()).toBe(LATER.length);
  });
});

test('an index build that a deadlock ended is repeated', async () => {
  await migrate(context.url);
  const later = await makeMigrationFolder(folder.path, [
    { tag: 'last', statements: ['CREATE INDEX CONCURRENTLY "by_name" ON "monitors" ("name")'] },
  ]);
  const writer = new Client({ connectionString: context.url });
  await writer.connect();
  try {
    await writer.query('begin');
    await writer.query('lock table monitors in row exclusive mode');
    const migrating = migrate(context.url, { folder: later, patience: PATIENCE, onWait });
    const ended = expect(migrating).resolves.toBeUndefined();
    await untilMigrationWaits();
    // It waits for the migrator, which waits for its snapshot. The migrator must detect the deadlock.
    await holder.query(`set deadlock_timeout = '1h'`);
    const pid = await pidOf(holder);
    const waiting = holder.query('select pg_advisory_lock($1)', [ADVISORY_LOCKS.migrations]);
    const canceled = expect(waiting).rejects.toThrow('canceling statement');
    await untilWaiting(context, 2);
    await writer.query('commit');
    await until('a deadlock', async () => {
      const { rows } = await context.db.execute<{ deadlocks: number }>(
        sql`select deadlocks::int as deadlocks from pg_stat_database where datname = current_database()`,
      );
      return (rows[0]?.deadlocks ?? 0) > 0;
    });
    await context.db.execute(sql`select pg_cancel_backend(${pid})`);
    await canceled;
    await ended;
  } finally {
    await writer.end();
  }
  const { rows } = await context.db.execute(sql`
    select indisvalid as valid from pg_index where indexrelid = 'by_name'::regclass`);
  expect(rows).toEqual([{ valid: true }]);
});
