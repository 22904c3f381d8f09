import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openDatabase, type OpenDatabase } from '@tocsin/db/database/open';
import { prepared } from '@tocsin/db/database/preparing-client';
import { buildOnce } from '@tocsin/db/database/sql';
import { createTestDatabase, type TestDatabase } from '@tocsin/embedded/testing/database';
import { sql } from 'drizzle-orm';

let testDatabase: TestDatabase;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
});
afterAll(() => testDatabase.drop());

const selectValue = buildOnce((db) =>
  db.select({ value: sql`${prepared} ${sql.placeholder('value')}::int` }).from(sql`(select) as one`),
);

/** What a session has prepared after marked and unmarked statements, each run twice. */
async function preparedStatements(throughPooler: boolean): Promise<string[]> {
  const database: OpenDatabase = openDatabase({
    url: testDatabase.url,
    poolSize: 1,
    applicationName: 'tocsin test',
    onIdleError: () => undefined,
    throughPooler,
  });
  try {
    for (const value of [1, 2]) {
      const { rows } = await database.db.execute(sql`${prepared} select ${value}::int as value`);
      expect(rows).toEqual([{ value }]);
      await database.db.execute(sql`select ${value}::int as other`);
      expect(await selectValue(database.db, { value })).toEqual([{ value }]);
    }
    const { rows } = await database.db.execute<{ statement: string }>(
      sql`select statement from pg_prepared_statements`,
    );
    return rows.map((row) => row.statement);
  } finally {
    await database.close();
  }
}

test('marked statements are prepared once per session, others never', async () => {
  const statements = await preparedStatements(false);
  expect(statements.toSorted()).toEqual([
    expect.stringContaining('select $1::int as value'),
    expect.stringContaining('from (select) as one'),
  ]);
});

test.each([
  [false, 'on'],
  [true, 'off'],
])('a session that avoids scans (%s) has enable_seqscan %s', async (avoidsScans, setting) => {
  const database = openDatabase({
    url: testDatabase.url,
    poolSize: 1,
    applicationName: 'tocsin test',
    onIdleError: () => undefined,
    avoidsScans,
  });
  const { rows } = await database.db.execute(sql`show enable_seqscan`);
  await database.close();
  expect(rows).toEqual([{ enable_seqscan: setting }]);
});

test('nothing is prepared behind a transaction pooler, where the next transaction has another session', async () => {
  expect(await preparedStatements(true)).toEqual([]);
});
