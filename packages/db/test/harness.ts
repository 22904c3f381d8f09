import { randomBytes, randomUUID } from 'node:crypto';
import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll } from '@jest/globals';
import { createMonitorSchema, type Monitor, type MonitorUpdate } from '@tocsin/contracts/monitors/monitor';
import { SecretBox } from '@tocsin/core/secrets/secret-box';
import { type Actor, systemActor } from '@tocsin/db/audit-log/actor';
import { MIGRATIONS } from '@tocsin/db/database/migrate';
import { type DbContext, openDatabase } from '@tocsin/db/database/open';
import { readMigrations } from '@tocsin/db/database/read-migrations';
import { createMonitor, type WrittenMonitor } from '@tocsin/db/monitors/create-monitors';
import { readListedMonitors } from '@tocsin/db/monitors/list-monitors';
import type { Viewer } from '@tocsin/db/monitors/monitor-codec';
import { type UpdatedMonitor, updateMonitor } from '@tocsin/db/monitors/update-monitors';
import { ensureFirstAccount } from '@tocsin/db/accounts/accounts';
import { createTestDatabase } from '@tocsin/embedded/testing/database';
import { until } from '@tocsin/embedded/testing/until';
import { sql } from 'drizzle-orm';

export { checkOf, failureOf } from '@tocsin/db/testing/check-record';

export interface TestContext extends DbContext {
  readonly url: string;
  readonly accountId: string;
  /** May change everything in the account. */
  readonly actor: Actor;
  /** Sees everything in the account. */
  readonly viewer: Viewer;
  close(): Promise<void>;
}

/** Makes Postgres refuse to write rows of a table that meet a condition. @returns a function that ends this */
export async function refuseRows(
  { db }: Pick<TestContext, 'db'>,
  table: string,
  condition: string,
  errcode = 'data_exception',
): Promise<() => Promise<void>> {
  const name = `refuse_${randomBytes(4).toString('hex')}`;
  await db.execute(
    sql.raw(`
    create function ${name}() returns trigger language plpgsql as $$
    begin raise exception 'refused' using errcode = '${errcode}'; end $$;
    create trigger ${name} before insert or update on ${table} for each row when (${condition})
    execute function ${name}()`),
  );
  return async () => {
    await db.execute(sql.raw(`drop function ${name} cascade`));
  };
}

/** Replaces the limits of a service, because a test on a busy machine may hold a lock, or wait for one, for longer. */
export const PATIENT = {
  options: ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout']
    .map((limit) => `-c ${limit}=2min`)
    .join(' '),
  connectionTimeoutMillis: 120_000,
};

/** Opens a separate migrated database with one account. */
export async function openTestContext(): Promise<TestContext> {
  const testDatabase = await createTestDatabase();
  const { url } = testDatabase;
  const database = openDatabase({
    url,
    poolSize: 10,
    applicationName: 'tocsin test',
    onIdleError: () => undefined,
  });
  Object.assign(database.pool.options, PATIENT);
  const { id: accountId } = await ensureFirstAccount(database.db);
  return {
    url,
    db: database.db,
    secrets: new SecretBox([randomBytes(32)]),
    accountId,
    actor: systemActor(accountId),
    viewer: { accountId, canWrite: true },
    close: async () => {
      await database.close();
      await testDatabase.drop();
    },
  };
}

/** Opens a context for all tests of a file. */
export async function useTestContext(): Promise<TestContext> {
  const context = await openTestContext();
  afterAll(() => context.close());
  return context;
}

/** Lists all monitors that a viewer sees, without their etags. */
export async function listMonitors(context: DbContext, viewer: Viewer): Promise<Monitor[]> {
  const monitors: Monitor[] = [];
  for await (const page of readListedMonitors(context, viewer)) {
    const listed = JSON.parse(`[${page}]`) as (Monitor & { etag: string })[];
    monitors.push(
      ...listed.map((listed) => {
        const { etag: _, ...monitor } = listed;
        return monitor;
      }),
    );
  }
  return monitors;
}

/** Opens a separate database without tables. Its account no longer exists. */
export async function openEmptyContext(): Promise<TestContext> {
  const context = await openTestContext();
  for (const schema of ['public', 'drizzle']) {
    await context.db.execute(sql`drop schema ${sql.identifier(schema)} cascade`);
  }
  await context.db.execute(sql`create schema public`);
  return context;
}

/** Waits until this many sessions of the test's database wait for a lock. */
export async function untilWaiting({ db }: TestContext, count: number): Promise<void> {
  await until(`${count} sessions to wait for a lock`, async () => {
    const { rowCount } = await db.execute(sql`
      select from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend' and wait_event_type = 'Lock'`);
    return (rowCount ?? 0) >= count;
  });
}

/** Reads Postgres' clock in epoch milliseconds. */
export async function readClock({ db }: TestContext): Promise<number> {
  const { rows } = await db.execute<{ now: number }>(
    sql`select (extract(epoch from clock_timestamp()) * 1000)::float8 as now`,
  );
  return rows[0]?.now ?? Number.NaN;
}

/** Creates a monitor of the test's account. The given fields replace the defaults. */
export async function makeMonitor(
  context: TestContext,
  fields: Record<string, unknown> = {},
): Promise<WrittenMonitor['monitor']> {
  const input = createMonitorSchema.parse({
    name: 'Shop',
    url: 'https://shop.example/health',
    runbookUrl: 'https://runbooks.example/shop',
    ...fields,
  });
  return (await createMonitor(context, systemActor(context.accountId), input, 'default')).monitor;
}

/** Copies the rows of a monitor and its regions, but not its assignments. @returns the ids of the copies */
export async function copyMonitor({ db }: TestContext, id: string, count: number): Promise<string[]> {
  const columns =
    sql.raw(`account_id, name, url, type, interval_seconds, timeout_seconds, method, failure_threshold, regions,
    sealed_headers, sealed_body, status, source, labels`);
  const { rows } = await db.execute<{ id: string }>(sql`
    with copies as (
      insert into monitors (id, ${columns}) select gen_random_uuid(), ${columns} from monitors, generate_series(1, ${count}::int)
      where id = ${id} returning id
    ), regions as (
      insert into monitor_regions (monitor_id, region, last_result_at, last_latency_ms)
      select c.id, r.region, r.last_result_at, r.last_latency_ms from copies c, monitor_regions r where r.monitor_id = ${id})
    select id from copies`);
  return rows.map((row) => row.id);
}

/** Updates a monitor like a service with the default region `default`. */
export function editMonitor(
  context: TestContext,
  id: string,
  fields: MonitorUpdate,
): Promise<UpdatedMonitor> {
  return updateMonitor(context, context.actor, id, fields, 'default');
}

/** Turns autovacuum off, so that the planner's statistics change only when the test updates them. */
export async function keepStatistics({ db }: Pick<TestContext, 'db'>): Promise<void> {
  await db.execute(sql`
    do $$ declare name text; begin
      for name in select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' loop
        execute format('alter table %I set (autovacuum_enabled = false)', name);
      end loop;
    end $$`);
}

/** Migrations that a later release could have after those of this version. */
export const LATER_MIGRATIONS: readonly { tag: string; statements: readonly string[] }[] = [
  {
    tag: '9001_monitor-note',
    statements: [
      'ALTER TABLE "channels" ADD COLUMN "note" text',
      'ALTER TABLE "monitors" ADD COLUMN "note" text',
    ],
  },
  {
    tag: '9002_delivery-index',
    statements: ['CREATE INDEX CONCURRENTLY "deliveries_event_idx" ON "deliveries" ("event")'],
  },
  { tag: '9003_first-name', statements: ['UPDATE "users" SET "name" = \'A\' RETURNING "email"'] },
];

/** Makes a folder with this version's migrations, followed by these. */
export async function makeMigrationFolder(parent: string, later: typeof LATER_MIGRATIONS): Promise<string> {
  const path = join(parent, randomUUID());
  await cp(MIGRATIONS, path, { recursive: true });
  const entries = readMigrations(MIGRATIONS).map(({ tag, createdAt }) => ({ tag, when: createdAt }));
  for (const { tag, statements } of later) {
    entries.push({ tag, when: (entries.at(-1)?.when ?? 0) + 1 });
    await writeFile(join(path, `${tag}.sql`), statements.join('--> statement-breakpoint\n'));
  }
  await writeFile(join(path, 'meta/_journal.json'), JSON.stringify({ entries }));
  return path;
}

/** Adds an account and a monitor to a database that was empty before it was migrated. @returns the monitor's id */
export async function addFirstMonitor(context: TestContext): Promise<string> {
  const { id: accountId } = await ensureFirstAccount(context.db);
  return (await makeMonitor({ ...context, accountId })).id;
}

/** Counts the applied migrations. */
export async function countMigrations({ db }: TestContext): Promise<number> {
  const { rowCount } = await db.execute(sql`select from drizzle.__drizzle_migrations`);
  return rowCount ?? 0;
}
