import { chmod, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client } from 'pg';
import { endOrphan } from '../postgres-cluster.ts';
import { startPostgres } from '../postgres.ts';
import { endRedisOrphan } from '../redis-orphan.ts';
import { startRedis } from '../redis.ts';

/** The database that `createTestDatabase` copies. */
export const TEMPLATE_DATABASE = 'tocsin_template';

export interface TestServers {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** For the files of tests; servers that they leave behind in it are ended as well. */
  readonly folder: string;
  readonly stop: () => Promise<void>;
}

/** A PostgreSQL with a migrated template database and a Redis, in a folder of their own that goes with them. */
export async function startTestServers(
  migrate: (databaseUrl: string) => Promise<void>,
): Promise<TestServers> {
  const folder = await mkdtemp(join(tmpdir(), 'tocsin-test-'));
  // The servers may run as another user, see `server-folder.ts`; what is secret in their own folders stays so.
  await chmod(folder, 0o711);
  const testFolder = join(folder, 'tests');
  const stops: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(stops.map((each) => each()));
    await endAbandonedServers(testFolder);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await mkdir(testFolder);
    const [redis, postgres] = await Promise.all([
      startRedis({ dataDir: join(folder, 'redis'), appendOnly: false, databases: 1024 }).then((server) => {
        stops.push(server.stop);
        return server;
      }),
      startPostgres({ dataDir: join(folder, 'postgres'), durable: false }).then((server) => {
        stops.push(server.stop);
        return server;
      }),
    ]);
    await migrate(await createTemplate(postgres.url));
    return { databaseUrl: postgres.url, redisUrl: redis.url, folder: testFolder, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function createTemplate(adminUrl: string): Promise<string> {
  const client = new Client({ connectionString: adminUrl });
  await client.connect();
  try {
    await client.query(`create database ${TEMPLATE_DATABASE}`);
  } finally {
    await client.end();
  }
  const url = new URL(adminUrl);
  url.pathname = `/${TEMPLATE_DATABASE}`;
  return url.href;
}

async function endAbandonedServers(folder: string): Promise<void> {
  for (const file of await readdir(folder, { recursive: true }).catch(() => [])) {
    const path = join(folder, file);
    if (file.endsWith('postmaster.pid')) await endOrphan(dirname(path));
    else if (file.endsWith('/pid')) await endRedisOrphan(dirname(path));
  }
}
