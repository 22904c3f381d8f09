import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { openDatabase, type OpenDatabase } from '@tocsin/db/database/open';
import { createTestDatabase, type TestDatabase } from '@tocsin/embedded/testing/database';
import { sql } from 'drizzle-orm';

/** Breaks a connection as soon as a message with this in it comes from the client; null: none. */
let breaksAt: string | null = null;
let testDatabase: TestDatabase;
let proxy: Server;
let database: OpenDatabase;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const server = new URL(testDatabase.url);
  proxy = createServer((client) => {
    const postgres = connect(Number(server.port), server.hostname);
    for (const socket of [client, postgres]) socket.on('error', () => undefined);
    client.on('close', () => postgres.destroy());
    postgres.on('close', () => client.destroy());
    postgres.pipe(client);
    client.on('data', (bytes: Buffer) => {
      if (breaksAt !== null && bytes.includes(breaksAt)) client.destroy();
      else postgres.write(bytes);
    });
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
});
afterAll(async () => {
  proxy.close();
  await testDatabase.drop();
});

beforeEach(() => {
  breaksAt = null;
  const url = new URL(testDatabase.url);
  url.port = String((proxy.address() as AddressInfo).port);
  const options = { poolSize: 1, applicationName: 'test', onIdleError: () => undefined };
  database = openDatabase({ url: url.href, ...options });
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
    breaksAt = statement;
    await expect(transact()).rejects.toThrow();
    breaksAt = null;
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
