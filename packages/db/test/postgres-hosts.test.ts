import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { acquireLeaderLease } from '@tocsin/db/database/leader-lease';
import { migrate } from '@tocsin/db/database/migrate';
import { openDatabase, type OpenDatabase } from '@tocsin/db/database/open';
import type { PostgresServer } from '@tocsin/embedded/postgres';
import { createTestDatabase, type TestDatabase } from '@tocsin/embedded/testing/database';
import { startStandby } from '@tocsin/embedded/testing/standby';
import { TcpProxy } from '@tocsin/embedded/testing/tcp-proxy';
import { createTemporaryFolder } from '@tocsin/embedded/testing/temporary-folder';
import { connectPostgres } from '@tocsin/runtime/postgres/connect';

let folder: Awaited<ReturnType<typeof createTemporaryFolder>>;
let testDatabase: TestDatabase;
let standby: PostgresServer;
/** A port without a listener. A client uses it, so that no other process takes it meanwhile. */
let down: string;
let reserved: { readonly server: Server; readonly client: Socket };
const opened: OpenDatabase[] = [];

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  folder = await createTemporaryFolder();
  standby = await startStandby(folder.path, testDatabase.url);
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  await once(client, 'connect');
  reserved = { server, client };
  down = `127.0.0.1:${client.localPort}`;
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((database) => database.close()));
});
afterAll(async () => {
  reserved.client.destroy();
  reserved.server.close();
  await standby.stop();
  await folder.remove();
  await testDatabase.drop();
});

const hostOf = (url: string): string => new URL(url).host;
/** The server of the test run. */
const primary = (): string => hostOf(testDatabase.url);

/** The address of these hosts. @param database both servers have `tocsin` */
function urlOf(hosts: readonly string[], session: string | null, database = 'tocsin'): string {
  const { username, password } = new URL(testDatabase.url);
  const query = session === null ? '' : `?target_session_attrs=${session}`;
  return `postgres://${username}:${password}@${hosts.join(',')}/${database}${query}`;
}

function open(url: string): OpenDatabase {
  const database = openDatabase({ url, poolSize: 2, applicationName: 'test', onIdleError: () => undefined });
  opened.push(database);
  return database;
}

async function portOf(url: string): Promise<string | undefined> {
  const { rows } = await open(url).pool.query<{ port: string }>(`select current_setting('port') as port`);
  return rows[0]?.port;
}

const portIn = (host: string): string => host.split(':')[1] ?? '';

describe('an address with several hosts', () => {
  test.each(['read-write', 'primary'])('and %s connects to the primary, in any order', async (session) => {
    for (const hosts of [
      [down, hostOf(standby.url), primary()],
      [primary(), hostOf(standby.url)],
    ])
      expect(await portOf(urlOf(hosts, session))).toBe(portIn(primary()));
  });

  test.each([null, 'any'])('and %s connects to the first that responds', async (session) => {
    const ofStandby = hostOf(standby.url);
    expect(await portOf(urlOf([down, ofStandby, primary()], session))).toBe(portIn(ofStandby));
  });

  test('falls back to the next host if one does not respond', async () => {
    const proxy = await TcpProxy.start(testDatabase.url);
    proxy.blackHole();
    const hosts = [hostOf(proxy.through(testDatabase.url)), primary()];
    expect(await portOf(urlOf(hosts, 'read-write'))).toBe(portIn(primary()));
    await proxy.stop();
  });

  test('is tried again after a failover, and a transaction of the pool uses the next host', async () => {
    const proxy = await TcpProxy.start(testDatabase.url);
    const database = open(urlOf([hostOf(proxy.through(testDatabase.url)), primary()], 'read-write'));
    await database.db.transaction((tx) => tx.execute('select 1'));
    expect(proxy.accepted).toBeGreaterThan(0);
    await proxy.stop();
    // The connection that breaks may fail one query.
    await database.ping().catch(() => undefined);
    await database.db.transaction((tx) => tx.execute('select 1'));
  });

  test('is searched once: further connections go to the same server at once', async () => {
    const proxy = await TcpProxy.start(testDatabase.url);
    const { pool } = open(urlOf([down, hostOf(proxy.through(testDatabase.url))], 'read-write'));
    const first = await pool.connect();
    const acceptedForFirst = proxy.accepted;
    const second = await pool.connect();
    first.release();
    second.release();
    await proxy.stop();
    // The session that looked for the server, and the two connections.
    expect([acceptedForFirst, proxy.accepted]).toEqual([2, 3]);
  });

  test('is searched within the given time, which the hosts share', async () => {
    const proxy = await TcpProxy.start(testDatabase.url);
    proxy.blackHole();
    const silent = hostOf(proxy.through(testDatabase.url));
    const connecting = connectPostgres(urlOf([silent, silent, silent], null), {
      applicationName: 'test',
      connectWithinMs: 400,
    });
    const failure = `${silent}: no response within 0.1 s`;
    await expect(connecting).rejects.toThrow([failure, failure, failure].join('; '));
    await proxy.stop();
  });

  test('is searched again when the host in use stops responding', async () => {
    const proxy = await TcpProxy.start(testDatabase.url);
    const host = hostOf(proxy.through(testDatabase.url));
    const { pool } = open(urlOf([host, host], 'read-write'));
    const first = await pool.connect();
    proxy.blackHole();
    const error = await pool.connect().catch((cause: unknown) => cause);
    await proxy.stop();
    first.release(true);
    expect(error).toMatchObject({ message: 'no response within 3.3 s' });
  });

  test('reports why each host was rejected', async () => {
    const ofStandby = hostOf(standby.url);
    await expect(open(urlOf([down, ofStandby], 'read-write')).ping()).rejects.toThrow(
      `${down}: connect ECONNREFUSED ${down}; ${ofStandby}: it is a read-only standby`,
    );
  });

  test('is used by migrations', async () => {
    const { pathname } = new URL(testDatabase.url);
    await migrate(urlOf([down, primary()], 'read-write', pathname.slice(1)));
  });

  test('has one leader, which is connected to the primary', async () => {
    const { signal } = new AbortController();
    const hosts = [hostOf(standby.url), primary()];
    const lease = await acquireLeaderLease(urlOf(hosts, null), 7, signal);
    expect(lease?.isAlive()).toBe(true);
    expect(await acquireLeaderLease(urlOf([primary()], null), 7, signal)).toBeNull();
    await lease?.release();
  });
});

test('connections send the first TCP keep-alive after 10 s, not after two hours', async () => {
  const setKeepAlive = jest.spyOn(Socket.prototype, 'setKeepAlive');
  try {
    await open(testDatabase.url).ping();
    await open(urlOf([primary(), primary()], 'read-write')).ping();
    const lease = await acquireLeaderLease(testDatabase.url, 9, new AbortController().signal);
    await lease?.release();
    // One of the first pool, two of the second (one looks for the server, one is used), and one of the lease.
    expect(setKeepAlive.mock.calls).toEqual(Array.from({ length: 4 }, () => [true, 10_000]));
  } finally {
    setKeepAlive.mockRestore();
  }
});

describe('an address with one host, a standby', () => {
  test('refuses connections that need to write', async () => {
    const url = urlOf([hostOf(standby.url)], 'read-write');
    await expect(open(url).pool.query('select 1')).rejects.toThrow('it is a read-only standby');
  });

  test('is not ready, and elects no leader', async () => {
    await expect(open(standby.url).ping()).rejects.toThrow('it is a read-only standby');
    const { signal } = new AbortController();
    await expect(acquireLeaderLease(standby.url, 7, signal)).rejects.toThrow('it is a read-only standby');
  });
});
