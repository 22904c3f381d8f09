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

// A pool of one connection: if it is not released, the next transaction and the shutdown wait for it.
test.each(['begin', 'select 1', 'commit'])(
  'a connection that breaks at "%s" is replaced for the next transaction',
  async (statement) => {
    await transact();
    proxy.failsAt = { text: statement, how: 'close' };
    await expect(transact()).rejects.toThrow();
    proxy.failsAt = null;
    await transact();
  },
);

test('a transaction rethrows the error of its work and keeps its session usable', async () => {
  const failing = database.db.transaction(() => Promise.reject(new RangeError('no')));
  await expect(failing).rejects.toThrow(new RangeError('no'));
  const before = await database.pool.query('select pg_backend_pid() as pid');
  await transact();
  expect((await database.pool.query('select pg_backend_pid() as pid')).rows).toEqual(before.rows);
});

test('a transaction applies its settings', async () => {
  const read = database.db.transaction((tx) => tx.execute(sql`show transaction_read_only`), {
    accessMode: 'read only',
  });
  expect((await read).rows).toEqual([{ transaction_read_only: 'on' }]);
});
