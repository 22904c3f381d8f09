import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '@tocsin/embedded/testing/database';
import { TcpProxy } from '@tocsin/embedded/testing/tcp-proxy';
import { until } from '@tocsin/embedded/testing/until';
import { openPostgresPool, type PostgresPool } from '@tocsin/runtime/postgres/pool';

/** Longer than a busy machine takes for a query. */
const SILENT_MS = 5_000;
const CONNECTIONS = 3;

let database: TestDatabase;
let proxy: TcpProxy;
let opened: PostgresPool;
beforeAll(async () => {
  database = await createTestDatabase();
  proxy = await TcpProxy.start(database.url);
  const config = { max: CONNECTIONS, application_name: 'test', silentMs: SILENT_MS, idleTimeoutMillis: 0 };
  opened = openPostgresPool(proxy.through(database.url), config);
  opened.pool.on('error', () => undefined);
});
afterAll(async () => {
  await opened.pool.end();
  await proxy.stop();
  await database.drop();
});

/** The server's processes of all connections of the pool. */
async function readProcesses(): Promise<number[]> {
  const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => opened.pool.connect()));
  const read = clients.map(async (client) => {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    return rows[0]?.pid ?? 0;
  });
  const pids = await Promise.all(read);
  for (const client of clients) client.release();
  return pids.toSorted((a, b) => a - b);
}

test('idle connections stay open, and break once one in use gets no response', async () => {
  const { pool } = opened;
  const pids = await readProcesses();
  await wait(SILENT_MS + 1_000);
  expect(await readProcesses()).toEqual(pids);
  // The server no longer knows these connections.
  proxy.blackHole();
  proxy.heal();
  await expect(pool.query('select 1')).rejects.toThrow('Postgres has been silent for 5 s');
  await until('no connection is left', () => pool.totalCount === 0);
  const later = await readProcesses();
  expect(later.filter((pid) => pids.includes(pid))).toEqual([]);
});
