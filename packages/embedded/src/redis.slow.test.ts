import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { isPortFree } from './ports.ts';
import { isRunning } from './processes.ts';
import { findRedisServer, probeRedis, type RedisServer, startRedis } from './redis.ts';
import { abandonServer } from './testing/abandoned-server.ts';
import { createTemporaryFolder } from './testing/temporary-folder.ts';

let folder: Awaited<ReturnType<typeof createTemporaryFolder>>;
let dataDir: string;
const servers: RedisServer[] = [];

beforeAll(async () => {
  folder = await createTemporaryFolder();
  dataDir = join(folder.path, 'data', 'redis');
});
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});
afterAll(() => folder.remove());

async function start(): Promise<RedisServer> {
  const server = await startRedis({ dataDir, appendOnly: true });
  servers.push(server);
  return server;
}

async function use<Result>(url: string, work: (redis: Redis) => Promise<Result>): Promise<Result> {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null });
  redis.on('error', () => {});
  try {
    await redis.connect();
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}

describe('startRedis', () => {
  it('keeps its data across a restart, never evicts, and requires a password that only the owner can read', async () => {
    const first = await start();
    await use(first.url, (redis) => redis.set('kept', 'restart'));
    expect(await use(first.url, (redis) => redis.config('GET', 'maxmemory-policy'))).toContain('noeviction');
    expect(await use(first.url, (redis) => redis.config('GET', 'bind'))).toContain('127.0.0.1');
    expect(await probeRedis(first.port, 'wrong')).toBe('refused');
    for (const file of ['password', 'redis.conf'])
      expect((await stat(join(dataDir, file))).mode & 0o777).toBe(0o600);
    await first.stop();
    expect(isRunning(first.pid)).toBe(false);
    const second = await start();
    // Another program may have taken the port in the meantime.
    expect(second.port === first.port || !(await isPortFree(first.port, '127.0.0.1'))).toBe(true);
    expect(await use(second.url, (redis) => redis.get('kept'))).toBe('restart');
  });

  it('replaces a server whose parent was killed', async () => {
    const abandoned = await abandonServer('redis', dataDir);
    await use(abandoned.url, (redis) => redis.set('kept', 'orphan'));
    const server = await start();
    expect(isRunning(abandoned.pid)).toBe(false);
    expect(await use(server.url, (redis) => redis.get('kept'))).toBe('orphan');
  });

  it('does not stop another program that has the process ID of an earlier server', async () => {
    await (await start()).stop();
    await writeFile(join(dataDir, 'pid'), `${process.pid}\n`);
    await start();
    expect(isRunning(process.pid)).toBe(true);
  });
});

it('findRedisServer prefers redis-server to valkey-server', async () => {
  const [redis, valkey] = [join(folder.path, 'redis-server'), join(folder.path, 'valkey-server')];
  expect(findRedisServer(folder.path)).toBeNull();
  for (const program of [valkey, redis]) {
    await writeFile(program, '', { mode: 0o755 });
    expect(findRedisServer(`/nowhere:${folder.path}`)).toBe(program);
  }
});
