import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { ensureAccount } from '@tocsin/db/accounts/ensure-account';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { MIGRATIONS, migrate } from '@tocsin/db/migrate';
import type { MigrationWait } from '@tocsin/db/migrations/apply-migrations';
import { readMigrations } from '@tocsin/db/migrations/read-migrations';
import { createTemporaryFolder } from '@tocsin/embedded/testing/temporary-folder';
import { until } from '@tocsin/embedded/testing/until';
import { sql } from 'drizzle-orm';
import { Client } from 'pg';
import { checkOf, makeMonitor, openTestContext, type TestContext } from './harness.ts';

const all = readMigrations(MIGRATIONS);
const PATIENCE = { lockTimeoutMs: 100, pauseMs: 10, maxWaitMs: 600_000 };

let folder: Awaited<ReturnType<typeof createTemporaryFolder>>;
let context: TestContext;
/** Somebody else's session, whose transaction stays open. */
let holder: Client;
let waits: MigrationWait[];
const onWait = (wait: MigrationWait): unknown => waits.push(wait);

beforeAll(async () => {
  folder = await createTemporaryFolder();
});
afterAll(() => folder.remove());

/** An empty database. */
beforeEach(async () => {
  context = await openTestContext();
  for (const schema of ['public', 'drizzle']) {
    await context.db.execute(sql`drop schema ${sql.identifier(schema)} cascade`);
  }
  await context.db.execute(sql`create schema public`);
  holder = new Client({ connectionString: context.url, application_name: 'a report' });
  await holder.connect();
  waits = [];
});
afterEach(async () => {
  await holder.end();
  await context.close();
});

/** A folder of migrations: the first so many of this version's, then one of these statements, if there are any. */
async function migrationsUntil(count: number, ...statements: string[]): Promise<string> {
  const path = join(folder.path, `${count} ${statements.length}`);
  await mkdir(join(path, 'meta'), { recursive: true });
  const entries = all.slice(0, count).map(({ tag, createdAt }) => ({ tag, when: createdAt }));
  for (const { tag } of entries) await cp(join(MIGRATIONS, `${tag}.sql`), join(path, `${tag}.sql`));
  if (statements.length > 0) {
    entries.push({ tag: 'last', when: Number.MAX_SAFE_INTEGER });
    await writeFile(join(path, 'last.sql'), statements.join('--> statement-breakpoint\n'));
  }
  await writeFile(join(path, 'meta/_journal.json'), JSON.stringify({ entries }));
  return path;
}

/** A monitor in a database that has had some migrations. */
async function addMonitor(): Promise<string> {
  const { id: accountId } = await ensureAccount(context.db);
  return (await makeMonitor({ ...context, accountId })).id;
}

async function countApplied(): Promise<number> {
  const { rowCount } = await context.db.execute(sql`select from drizzle.__drizzle_migrations`);
  return rowCount ?? 0;
}

test('brings an empty database to the schema of this version; again it changes nothing', async () => {
  await migrate(context.url);
  await migrate(context.url);
  expect(await countApplied()).toBe(all.length);
  const { rows } = await context.db.execute(sql`
    select indexrelid::regclass from pg_index where not indisvalid`);
  expect(rows).toEqual([]);
});

test('several processes at once take turns', async () => {
  await migrate(context.url, { folder: await migrationsUntil(8) });
  await Promise.all([migrate(context.url), migrate(context.url), migrate(context.url)]);
  expect(await countApplied()).toBe(all.length);
});

describe('while another transaction holds a lock that a migration needs', () => {
  // As whoever has written to the table and not committed holds it.
  test.each([
    ['monitors', '0008_sets-and-keys'],
    ['deliveries', '0010_claim-indices'],
  ])('of %s: checks are recorded, and the migration completes afterwards', async (table, tag) => {
    await migrate(context.url, { folder: await migrationsUntil(8) });
    const id = await addMonitor();
    await holder.query('begin');
    await holder.query(`lock table ${table} in row exclusive mode`);
    const migrating = migrate(context.url, { patience: PATIENCE, onWait });
    await until('the migration to wait', async () => {
      const { rowCount } = await context.db.execute(sql`
        select from pg_stat_activity where datname = current_database() and application_name = 'tocsin migrations'
          and wait_event_type = 'Lock'`);
      return rowCount === 1;
    });
    expect(await recordChecks(context.db, [checkOf(id)])).toMatchObject([{ kind: 'recorded' }]);
    const { rows } = await holder.query<{ pid: number }>('select pg_backend_pid() as pid');
    await until('the migration to name the session', () =>
      waits.some(({ blockedBy }) => blockedBy.some(({ pid }) => pid === rows[0]?.pid)),
    );
    expect(new Set(waits.map(({ migration }) => migration))).toEqual(new Set([tag]));
    expect(await recordChecks(context.db, [checkOf(id)])).toMatchObject([{ kind: 'recorded' }]);
    await holder.query('commit');
    await migrating;
    expect(await countApplied()).toBe(all.length);
  });

  test.each([
    ['monitors', 8],
    ['deliveries', 10],
  ])('of %s for too long: the migration fails, says who, and can be run again', async (table, applied) => {
    await migrate(context.url, { folder: await migrationsUntil(8) });
    await holder.query('begin');
    await holder.query(`lock table ${table} in row exclusive mode`);
    const patience = {
      ...PATIENCE,
      /** Too long is as soon as the migrator has seen who is in its way. */
      get maxWaitMs() {
        return waits.some(({ blockedBy }) => blockedBy.length > 0) ? 0 : Infinity;
      },
    };
    await expect(migrate(context.url, { patience, onWait })).rejects.toThrow(
      /^Migration \d{4}_[a-z-]+ did not get its locks\. They are held by: session \d+, a report, idle in transaction, /,
    );
    expect(await countApplied()).toBe(applied);
    await holder.query('commit');
    await migrate(context.url);
    expect(await countApplied()).toBe(all.length);
  });
});

test('an index whose building was interrupted is built again, one that was built is left alone', async () => {
  await migrate(context.url);
  await addMonitor();
  await addMonitor();
  const statements = ['name', 'url'].map(
    (column) =>
      `CREATE ${column === 'url' ? 'UNIQUE ' : ''}INDEX CONCURRENTLY "by_${column}" ON "monitors" ("${column}")`,
  );
  const last = await migrationsUntil(all.length, ...statements);
  // Two monitors have the same URL.
  await expect(migrate(context.url, { folder: last })).rejects.toThrow('could not create unique index');
  const indices = async (): Promise<unknown> =>
    (
      await context.db.execute(sql`
        select c.relname as name, i.indisvalid as valid, c.oid from pg_index i join pg_class c on c.oid = i.indexrelid
        where c.relname in ('by_name', 'by_url') order by 1`)
    ).rows;
  const before = await indices();
  expect(before).toMatchObject([
    { name: 'by_name', valid: true },
    { name: 'by_url', valid: false },
  ]);
  await context.db.execute(sql`update monitors set url = id::text`);
  await migrate(context.url, { folder: last });
  const [byName] = before as unknown[];
  expect(await indices()).toMatchObject([byName, { name: 'by_url', valid: true }]);
});
