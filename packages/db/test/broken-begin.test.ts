import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { openDatabase, type OpenDatabase } from '@tocsin/db/database/open';
import { createTestDatabase, type TestDatabase } from '@tocsin/embedded/testing/database';
import { TcpProxy } from '@tocsin/embedded/testing/tcp-proxy';
import { sql } from 'drizzle-orm';

let testDatabase: TestDatabase;
let proxy: TcpProxy;
let database: OpenDatabase;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  proxy = await TcpProxy.start(testDatabase.url);
});
afterAll(async () => {
  await proxy.stop();
  await testDatabase.drop();
});

beforeEach(() => {
  const options = { poolSize: 1, applicationName: 'test', onIdleError: () => undefined };
  database = openDatabase({ url: proxy.through(testDatabase.url), ...options });
});
afterEach(async () => {
  await database.close();
});

async function transact(): Promise<unknown> {
  return database.db.transaction((tx) => tx.execute(sql`select 1`));
}

// A pool of one: a connection that is not given back is missed by the next transaction, and by the end.
test.each(['begin', 'select 1', 'commit'])(
  'a connection that breaks at "%s" is given back: the next transaction has another one',
  async (statement) => {
    await transact();
    proxy.failsAt = { text: statement, how: 'close' };
    await expect(transact()).rejects.toThrow();
    proxy.failsAt = null;
    await transact();
  },
);

test('what a transaction throws comes out of it, and its session goes on', async () => {
  const failing = database.db.transaction(() => Promise.reject(new RangeError('no')));
  await expect(failing).rejects.toThrow(new RangeError('no'));
  const before = await database.pool.query('select pg_backend_pid() as pid');
  await transact();
  expect((await database.pool.query('select pg_backend_pid() as pid')).rows).toEqual(before.rows);
});

test('a transaction takes its settings', async () => {
  const read = database.db.transaction((tx) => tx.execute(sql`show transaction_read_only`), {
    accessMode: 'read only',
  });
  expect((await read).rows).toEqual([{ transaction_read_only: 'on' }]);
});
