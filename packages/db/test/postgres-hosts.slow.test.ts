import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { acquireLeaderLease } from '@tocsin/db/database/leader-lease';
import { migrate } from '@tocsin/db/database/migrate';
import { openDatabase, type OpenDatabase } from '@tocsin/db/database/open';
import type { PostgresServer } from '@tocsin/embedded/postgres';
import { createTestDatabase } from '@tocsin/embedded/testing/database';
import { startStandby } from '@tocsin/embedded/testing/standby';
import { TcpProxy } from '@tocsin/embedded/testing/tcp-proxy';
import { createTemporaryFolder } from '@tocsin/embedded/testing/temporary-folder';
import { until } from '@tocsin/embedded/testing/until';
import { connectPostgres } from '@tocsin/runtime/postgres/connect';
import { openPostgresPool } from '@tocsin/runtime/postgres/pool';

const testDatabase = await createTestDatabase();
const folder = await createTemporaryFolder();
const standby: PostgresServer = await startStandby(folder.path, testDatabase.url);
// A client uses the unused port, so that no other process takes it.
const server = createServer().listen(0, '127.0.0.1');
await once(server, 'listening');
const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
await once(client, 'connect');
const down = `127.0.0.1:${client.localPort}`;
const opened: OpenDatabase[] = [];

afterEach(() => Promise.all(opened.splice(0).map((database) => database.close())));
afterAll(async () => {
  client.destroy();
  server.close();
  await standby.stop();
  await folder.remove();
  await testDatabase.drop();
});

const hostOf = (url: string): string => new URL(url).host;
const primary = (): string => hostOf(testDatabase.url);

/** Returns the address of these hosts. @param database both servers have `tocsin` */
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

describe('an address with one host, a standby', () => {
  test('refuses connections that need to write, is not ready, and elects no leader', async () => {
    const url = urlOf([hostOf(standby.url)], 'read-write');
    await expect(open(url).pool.query('select 1')).rejects.toThrow('it is a read-only standby');
    await expect(open(standby.url).ping()).rejects.toThrow('it is a read-only standby');
    const { signal } = new AbortController();
    await expect(acquireLeaderLease(standby.url, 7, signal)).rejects.toThrow('it is a read-only standby');
  });
});

test('idle connections stay open, and break once one in use gets no response', async () => {
  /** Longer than a busy machine takes for a query. */
  const SILENT_MS = 5_000;
  const CONNECTIONS = 3;
  const proxy = await TcpProxy.start(testDatabase.url);
  const { pool } = openPostgresPool(proxy.through(testDatabase.url), {
    max: CONNECTIONS,
    application_name: 'test',
    silentMs: SILENT_MS,
    idleTimeoutMillis: 0,
  });
  pool.on('error', () => undefined);

  /** Reads the server processes of all connections of the pool. */
  async function readProcesses(): Promise<number[]> {
    const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => pool.connect()));
    const pids = clients.map(async (one) => {
      const { rows } = await one.query<{ pid: number }>('select pg_backend_pid() as pid');
      return rows[0]?.pid ?? 0;
    });
    const read = await Promise.all(pids);
    for (const one of clients) one.release();
    return read.toSorted((a, b) => a - b);
  }

  const before = await readProcesses();
  await wait(SILENT_MS + 1_000);
  expect(await readProcesses()).toEqual(before);
  // The server no longer knows these connections.
  proxy.blackHole();
  proxy.heal();
  await expect(pool.query('select 1')).rejects.toThrow('Postgres has been silent for 5 s');
  await until('no connection is left', () => pool.totalCount === 0);
  const later = await readProcesses();
  expect(later.filter((pid) => before.includes(pid))).toEqual([]);
  await pool.end();
  await proxy.stop();
});
