import { access, chmod, constants, mkdir, mkdtemp, rm, statfs } from 'node:fs/promises';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { startPostgres } from '../postgres.ts';
import { endLeftovers } from '../program/sweep.ts';
import { startRedis } from '../redis.ts';

/** Database that `createTestDatabase` copies. */
export const TEMPLATE_DATABASE = 'tocsin_template';

const MEMORY_FOLDER = '/dev/shm';
/** Containers often have only 64 MB of shared memory. */
const MIN_MEMORY_BYTES = 4 * 1024 ** 3;

export interface TestServers {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** Folder for files of tests. Leftover servers in this folder are stopped, too. */
  readonly folder: string;
  readonly stop: () => Promise<void>;
}

/** Starts PostgreSQL with a migrated template database, and Redis. Stopping them deletes their folder. */
export async function startTestServers(
  migrate: (databaseUrl: string) => Promise<void>,
): Promise<TestServers> {
  const folder = await mkdtemp(join(await fastFolder(), 'tocsin-test-'));
  // The servers may run as another user (`server-folder.ts`). Their own folders stay private.
  await chmod(folder, 0o711);
  const testFolder = join(folder, 'tests');
  const stops: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    try {
      await endLeftovers(testFolder);
    } finally {
      await Promise.all(stops.map((each) => each()));
      await rm(folder, { recursive: true, force: true });
    }
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

/** Prefers memory, because a new database takes half a second on a busy disk. */
async function fastFolder(): Promise<string> {
  if (process.platform !== 'linux' || process.env['TMPDIR'] !== undefined) return tmpdir();
  try {
    await access(MEMORY_FOLDER, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = await statfs(MEMORY_FOLDER);
    return Math.min(bavail * bsize, freemem()) >= MIN_MEMORY_BYTES ? MEMORY_FOLDER : tmpdir();
  } catch {
    return tmpdir();
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
