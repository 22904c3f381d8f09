import { access, chmod, constants, mkdir, mkdtemp, rm, statfs } from 'node:fs/promises';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { startPostgres } from '../postgres.ts';
import { endLeftovers } from '../program/sweep.ts';
import { startRedis } from '../redis.ts';

/** The database that `createTestDatabase` copies. */
export const TEMPLATE_DATABASE = 'tocsin_template';

const MEMORY_FOLDER = '/dev/shm';
/** Containers often have 64 MB of shared memory, which is too little for a test run. */
const MIN_MEMORY_BYTES = 4 * 1024 ** 3;

export interface TestServers {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** For the files of tests. Servers left behind in it are stopped too. */
  readonly folder: string;
  readonly stop: () => Promise<void>;
}

/** A PostgreSQL with a migrated template database and a Redis, in a folder that is deleted with them. */
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

/** Memory instead of a disk: on a busy disk, each new database takes half a second. */
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
