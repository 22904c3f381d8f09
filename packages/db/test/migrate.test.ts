import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { systemActor } from '@tocsin/db/audit-log/actor';
import type { MigrationReport } from '@tocsin/db/database/apply-migrations';
import { migrate, MIGRATIONS } from '@tocsin/db/database/migrate';
import { readMigrations } from '@tocsin/db/database/read-migrations';
import { ensureFirstAccount } from '@tocsin/db/accounts/accounts';
import { createUser } from '@tocsin/db/users/users';
import { createTemporaryFolder } from '@tocsin/embedded/testing/temporary-folder';
import { sql } from 'drizzle-orm';
import {
  addFirstMonitor,
  countMigrations,
  LATER_MIGRATIONS as LATER,
  makeMigrationFolder,
  openEmptyContext,
  type TestContext,
} from './harness.ts';

const all = readMigrations(MIGRATIONS);

let context: TestContext;

const folder = await createTemporaryFolder();
afterAll(() => folder.remove());

beforeEach(async () => {
  context = await openEmptyContext();
});
afterEach(() => context.close());

async function folderWith(later: typeof LATER): Promise<string> {
  return makeMigrationFolder(folder.path, later);
}

async function addMonitor(): Promise<string> {
  return addFirstMonitor(context);
}

async function countApplied(): Promise<number> {
  return countMigrations(context);
}

test('brings an empty database to the schema of this version, and a second run changes nothing', async () => {
  await migrate(context.url);
  await migrate(context.url);
  expect(await countApplied()).toBe(all.length);
  const { rows } = await context.db.execute(sql`
    select indexrelid::regclass from pg_index where not indisvalid`);
  expect(rows).toEqual([]);
});

test('concurrent migrators take turns', async () => {
  const folder = await folderWith(LATER);
  await Promise.all([0, 1, 2].map(() => migrate(context.url, { folder })));
  expect(await countApplied()).toBe(all.length + LATER.length);
});

test('a run reports the rows that a migration returns', async () => {
  await migrate(context.url);
  const { id: accountId } = await ensureFirstAccount(context.db);
  const [ada, bob] = ['ada@example.com', 'bob@example.com'];
  for (const email of [ada, bob]) {
    await createUser(context.db, systemActor(accountId), {
      role: 'owner',
      name: email,
      email,
      emailVerified: true,
      passwordHash: null,
    });
  }
  const reports: MigrationReport[] = [];
  const folder = await folderWith(LATER);
  await migrate(context.url, { folder, onReport: (report) => reports.push(report) });
  const rows = expect.arrayContaining([{ email: ada }, { email: bob }]);
  expect(reports).toEqual([{ migration: '9003_first-name', rows }]);
  expect(reports[0]?.rows).toHaveLength(2);
});

describe('a database that', () => {
  const journal = async (): Promise<unknown> =>
    (await context.db.execute(sql`select * from drizzle.__drizzle_migrations order by id`)).rows;

  test('was made by an earlier build is refused and not changed', async () => {
    const older = await folderWith([]);
    const entries = [{ tag: 'old', when: (all[0]?.createdAt ?? 0) - 1 }];
    await writeFile(join(older, 'old.sql'), 'CREATE TABLE "monitors" ("id" uuid PRIMARY KEY)');
    await writeFile(join(older, 'meta/_journal.json'), JSON.stringify({ entries }));
    // This build also adds partitions, for which this schema has no table.
    await expect(migrate(context.url, { folder: older })).rejects.toThrow();
    const before = [await journal(), await tables()];
    await expect(migrate(context.url)).rejects.toThrow(
      /^An earlier build of Tocsin made this database, .* Nothing was changed\. Create an empty database .* DATA_DIR /,
    );
    expect([await journal(), await tables()]).toEqual(before);
    expect(before).toEqual([[expect.objectContaining({ id: 1 })], [{ name: 'monitors' }]]);
  });

  test('was migrated by a newer version is not changed', async () => {
    await migrate(context.url, { folder: await folderWith(LATER) });
    const before = [await journal(), await tables()];
    await migrate(context.url);
    expect([await journal(), await tables()]).toEqual(before);
  });
});

async function tables(): Promise<unknown> {
  const { rows } = await context.db.execute(sql`
    select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') order by 1`);
  return rows;
}

test('an interrupted index build is repeated, and a valid index is kept', async () => {
  await migrate(context.url);
  await addMonitor();
  await addMonitor();
  const statements = ['name', 'url'].map(
    (column) =>
      `CREATE ${column === 'url' ? 'UNIQUE ' : ''}INDEX CONCURRENTLY "by_${column}" ON "monitors" ("${column}")`,
  );
  const last = await folderWith([{ tag: 'last', statements }]);
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
