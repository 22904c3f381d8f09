import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { type PostgresServer, startPostgres } from './postgres.ts';
import { isPortFree } from './ports.ts';
import { isRunning } from './processes.ts';
import { abandonServer } from './testing/abandoned-server.ts';
import { createTemporaryFolder } from './testing/temporary-folder.ts';
import { until } from './testing/until.ts';

let folder: Awaited<ReturnType<typeof createTemporaryFolder>>;
let dataDir: string;
const servers: PostgresServer[] = [];

beforeAll(async () => {
  folder = await createTemporaryFolder();
  dataDir = join(folder.path, 'data', 'postgres');
  await query(await start(), 'create table kept (value text)');
  await stopAll();
});
afterEach(stopAll);
afterAll(() => folder.remove());

async function start(path = dataDir): Promise<PostgresServer> {
  const server = await startPostgres({ dataDir: path, durable: false });
  servers.push(server);
  return server;
}

async function stopAll(): Promise<void> {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
}

async function query(server: { url: string }, text: string): Promise<unknown[]> {
  const client = new Client({ connectionString: server.url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

describe('startPostgres', () => {
  it('keeps its data and port across a restart', async () => {
    const first = await start();
    await query(first, `insert into kept values ('restart')`);
    await first.stop();
    expect(isRunning(first.pid)).toBe(false);
    const second = await start();
    // Another program may have taken the port in the meantime.
    expect(second.port === first.port || !(await isPortFree(first.port, '127.0.0.1'))).toBe(true);
    expect(await query(second, `select value from kept where value = 'restart'`)).toHaveLength(1);
  });

  it('listens on 127.0.0.1 only and requires the password, which only the owner can read', async () => {
    const server = await start();
    expect(await query(server, 'show listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }]);
    expect(await query(server, 'show max_connections')).toEqual([{ max_connections: '200' }]);
    const url = new URL(server.url);
    expect((await readFile(join(server.folder, 'password'), 'utf8')).trim()).toBe(url.password);
    expect((await stat(join(server.folder, 'password'))).mode & 0o777).toBe(0o600);
    url.password = 'wrong';
    await expect(query({ url: url.href }, 'select 1')).rejects.toMatchObject({ code: '28P01' });
  });

  it('uses another port if its own is in use, but not if the port was configured', async () => {
    const first = await start();
    await first.stop();
    const other = createServer().listen(first.port, '127.0.0.1');
    // If another program was even faster, the port is in use as well.
    await once(other, 'listening').catch(() => undefined);
    try {
      const attempt = startPostgres({ dataDir, port: first.port });
      await expect(attempt).rejects.toThrow(`PostgreSQL cannot listen on port ${first.port}: it is in use`);
      expect((await start()).port).not.toBe(first.port);
    } finally {
      other.close();
    }
  });

  it('replaces a server whose parent was killed, and keeps committed data', async () => {
    const abandoned = await abandonServer('postgres', dataDir);
    expect(isRunning(abandoned.pid)).toBe(true);
    await query(abandoned, `insert into kept values ('orphan')`);
    const server = await start();
    expect(isRunning(abandoned.pid)).toBe(false);
    expect(await query(server, `select value from kept where value = 'orphan'`)).toHaveLength(1);
  });

  it('starts after it was killed, even if another program has its process ID now', async () => {
    const first = await start();
    process.kill(first.pid, 'SIGKILL');
    const lockFile = join(first.folder, 'cluster', 'postmaster.pid');
    const lock = await readFile(lockFile, 'utf8');
    await writeFile(lockFile, lock.replace(/^\d+/, String(process.pid)));
    expect(await query(await start(), 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(isRunning(process.pid)).toBe(true);
  });

  it('may take its time to recover, and stops at once when the start is canceled', async () => {
    const path = join(folder.path, 'recovering');
    const { folder: own, stop } = await start(path);
    await stop();
    const log = join(own, 'server.log');
    await writeFile(log, '');
    // The recovery waits for this command.
    await writeFile(join(own, 'cluster', 'postgresql.auto.conf'), `restore_command = 'sleep 600'\n`);
    await writeFile(join(own, 'cluster', 'recovery.signal'), '');
    const starting = new AbortController();
    const attempt = startPostgres({ dataDir: path, durable: false, signal: starting.signal });
    const ended = expect(attempt).rejects.toBe('stopped');
    await until('it to recover', async () => (await readFile(log, 'utf8')).includes('is starting up'));
    const pid = Number.parseInt(await readFile(join(own, 'cluster', 'postmaster.pid'), 'utf8'), 10);
    starting.abort('stopped');
    await ended;
    expect(isRunning(pid)).toBe(false);
  });

  it('creates its cluster again after an interrupted creation', async () => {
    const path = join(folder.path, 'interrupted');
    await mkdir(join(path, 'cluster.new', 'base'), { recursive: true });
    expect(await query(await start(path), 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('reports an unusable folder and an incompatible cluster in one line', async () => {
    // Node's own recursive mkdir does not return there.
    if (process.platform === 'linux') await expect(start('/proc/nowhere/data')).rejects.toThrow('(ENOENT)');
    const older = join(folder.path, 'older');
    await mkdir(join(older, 'cluster'), { recursive: true });
    await writeFile(join(older, 'cluster', 'PG_VERSION'), '16\n');
    await expect(start(older)).rejects.toThrow(
      /^The database in [^\n]* was created by PostgreSQL 16, [^\n]*$/,
    );
    await rm(join(older, 'cluster', 'PG_VERSION'));
    await expect(start(older)).rejects.toThrow(/^The database in [^\n]* cannot be read \(ENOENT\)[^\n]*$/);
  });
});
