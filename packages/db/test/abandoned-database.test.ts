import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { openDatabase } from '@tocsin/db/database/open';
import { createTestDatabase, type TestDatabase } from '@tocsin/embedded/testing/database';
import { TcpProxy } from '@tocsin/embedded/testing/tcp-proxy';
import { until } from '@tocsin/embedded/testing/until';

let testDatabase: TestDatabase;
let proxy: TcpProxy;
beforeEach(async () => {
  testDatabase = await createTestDatabase();
  proxy = await TcpProxy.start(testDatabase.url);
});
afterEach(async () => {
  await proxy.stop();
  await testDatabase.drop();
});

/** The database by way of the proxy. */
const oneServer = (): string => proxy.through(testDatabase.url);
/** The same server twice. */
function twoServers(): string {
  const { host } = new URL(oneServer());
  return oneServer().replace(host, `${host},${host}`);
}

test.each([
  ['one server', oneServer, true],
  ['two servers', twoServers, true],
  ['two servers, neither of which has responded', twoServers, false],
])(
  'an abandoned database of %s rejects current and later queries on a dead connection, and can be closed',
  async (_servers, urlOf, connects) => {
    const database = openDatabase({
      url: urlOf(),
      poolSize: 2,
      applicationName: 'test',
      onIdleError: () => undefined,
    });
    if (connects) await database.ping();
    const before = proxy.accepted;
    proxy.blackHole();
    // With a connection: one query on it, one on a new connection, one that waits for a free one.
    const queries = [database.ping(), database.ping(), database.ping()];
    const outcomes = Promise.all(
      queries.map((query) =>
        query.then(
          () => 'responded',
          () => 'failed',
        ),
      ),
    );
    await until('a new connection is requested', () => proxy.accepted > before);
    database.abandon();
    expect(await outcomes).toEqual(['failed', 'failed', 'failed']);
    await expect(database.ping()).rejects.toThrow('The service is shutting down');
    await database.close();
    // An unhandled error of a socket comes in a later turn of the event loop, and fails this test.
    await setImmediate();
  },
);
