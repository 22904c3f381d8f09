import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { openDatabase, type OpenDatabase } from '@tocsin/db/database/open';
import { createTestDatabase, type TestDatabase } from '@tocsin/embedded/testing/database';
import { TcpProxy } from '@tocsin/embedded/testing/tcp-proxy';
import { until } from '@tocsin/embedded/testing/until';

let testDatabase: TestDatabase;
let proxy: TcpProxy;
let database: OpenDatabase;
beforeEach(async () => {
  testDatabase = await createTestDatabase();
  proxy = await TcpProxy.start(testDatabase.url);
  database = openDatabase({
    url: proxy.through(testDatabase.url),
    poolSize: 2,
    applicationName: 'test',
    onIdleError: () => undefined,
  });
});
afterEach(async () => {
  await proxy.stop();
  await testDatabase.drop();
});

test('an abandoned database rejects what waits for a dead connection, then and later, and can be closed', async () => {
  await database.ping();
  proxy.blackHole();
  // One on the connection that is there, one on a new one, one that waits for a place.
  const queries = [database.ping(), database.ping(), database.ping()];
  const outcomes = Promise.all(
    queries.map((query) =>
      query.then(
        () => 'answered',
        () => 'failed',
      ),
    ),
  );
  await until('the second connection is asked for', () => proxy.accepted === 2);
  database.abandon();
  expect(await outcomes).toEqual(['failed', 'failed', 'failed']);
  await expect(database.ping()).rejects.toThrow('The service stops');
  await database.close();
});
