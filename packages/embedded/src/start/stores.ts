import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { MigrationReport } from '@tocsin/db/database/apply-migrations';
import { migrate } from '@tocsin/db/database/migrate';
import { migrateQueue } from '@tocsin/queue/migrate';
import { parseEnv } from '@tocsin/runtime/env';
import { errorCode } from '@tocsin/runtime/error-code';
import { type Settings, settings } from '@tocsin/runtime/settings';
import { EmbeddedError } from '../embedded-error.ts';
import { startPostgres } from '../postgres.ts';
import { findRedisServer, startRedis } from '../redis.ts';
import { keepSecret } from '../server-folder.ts';
import type { StopHandler } from './stop.ts';
import { SupervisedStore } from './supervised-store.ts';

type FilledIn = 'DATABASE_URL' | 'QUEUE_URL' | 'SECRETS_KEY';
type OfOthers = 'TOCSIN_URL' | 'AGENT_TOKEN' | 'TOCSIN_API_KEY' | 'CLUSTER_NAME';
export type StartSettings = Omit<Settings, FilledIn | OfOthers> & {
  readonly [Name in FilledIn]?: Settings[Name] | undefined;
};

/** Parses all variables before anything starts. Settings that `npm start` fills in are optional. */
export function parseStartSettings(): StartSettings {
  return parseEnv(
    settings
      .omit({ TOCSIN_URL: true, AGENT_TOKEN: true, TOCSIN_API_KEY: true, CLUSTER_NAME: true })
      .partial({ DATABASE_URL: true, QUEUE_URL: true, SECRETS_KEY: true }),
  );
}

const BUILT = fileURLToPath(new URL('../../../../services/dashboard/dist/', import.meta.url));

/** Sets `DASHBOARD_DIR` to the given folder, or to the build of `bootstrap.js` if there is one. */
export function dashboardEnv(given: string | undefined, built: string = BUILT): { DASHBOARD_DIR?: string } {
  const folder = given ?? (existsSync(join(built, 'index.html')) ? built : undefined);
  return folder === undefined ? {} : { DASHBOARD_DIR: folder };
}

export interface Stores {
  readonly databaseUrl: string;
  readonly queueUrl: string;
  /** Descriptions of the stores for the user. */
  readonly database: string;
  readonly queue: string;
}

export interface StoresOptions {
  readonly settings: StartSettings;
  readonly dataDir: string;
  readonly stop: Pick<StopHandler, 'signal' | 'onStop' | 'fail'>;
  readonly say: (line: string) => void;
}

/** Opens and migrates the stores in the settings, or embedded stores, which are restarted if they end. */
export async function openStores(options: StoresOptions): Promise<Stores> {
  const { settings } = options;
  const { signal } = options.stop;
  const database = await openDatabase(options);
  const queue = await openQueue(options, database.url);
  signal.throwIfAborted();
  await prepare('database', () =>
    migrate(settings.DATABASE_DIRECT_URL ?? database.url, {
      partitionMinutes: settings.EVENT_PARTITION_MINUTES,
      onReport: reportDeletedRows,
      signal,
    }),
  );
  await prepare('queue', () => migrateQueue(queue.url));
  return { databaseUrl: database.url, queueUrl: queue.url, database: database.text, queue: queue.text };
}

function reportDeletedRows({ migration, rows }: MigrationReport): void {
  process.stderr.write(`The migration ${migration} deleted ${rows.length} rows: ${JSON.stringify(rows)}\n`);
}

async function prepare(store: string, migrate: () => Promise<void>): Promise<void> {
  try {
    await migrate();
  } catch (error) {
    const reason =
      errorCode(error) ?? (error instanceof Error ? error.message.split('\n')[0] : String(error));
    throw new EmbeddedError(`Could not prepare the ${store}: ${reason}`, { cause: error });
  }
}

interface Store {
  readonly url: string;
  readonly text: string;
}

async function openDatabase({ settings, dataDir, stop, say }: StoresOptions): Promise<Store> {
  if (settings.DATABASE_URL !== undefined) {
    return { url: settings.DATABASE_URL, text: `${address(settings.DATABASE_URL)} (DATABASE_URL)` };
  }
  const store = await SupervisedStore.start({
    name: 'PostgreSQL',
    start: (how) => startPostgres({ dataDir: join(dataDir, 'postgres'), ...how }),
    signal: stop.signal,
    say,
    onFailure: stop.fail,
  });
  stop.onStop(() => store.stop());
  const { url, port, folder } = store.first;
  return { url, text: `embedded, at 127.0.0.1:${port}, data in ${shown(folder)}` };
}

async function openQueue(
  { settings, dataDir, stop, say }: StoresOptions,
  databaseUrl: string,
): Promise<Store> {
  if (settings.QUEUE_URL !== undefined) {
    return { url: settings.QUEUE_URL, text: `${address(settings.QUEUE_URL)} (QUEUE_URL)` };
  }
  const binary = findRedisServer();
  if (binary === null) {
    return { url: databaseUrl, text: 'PostgreSQL (no redis-server or valkey-server on the PATH)' };
  }
  try {
    const store = await SupervisedStore.start({
      name: 'Redis',
      start: (how) => startRedis({ dataDir: join(dataDir, 'redis'), appendOnly: true, ...how }),
      signal: stop.signal,
      say,
      onFailure: stop.fail,
    });
    stop.onStop(() => store.stop());
    const { url, port } = store.first;
    return { url, text: `embedded Redis at 127.0.0.1:${port} (${binary})` };
  } catch (error) {
    if (!(error instanceof EmbeddedError)) throw error;
    return { url: databaseUrl, text: `PostgreSQL. ${error.message}` };
  }
}

/** Returns the given key, or a stored key that the first start creates. */
export async function secretsKey(given: string | undefined, dataDir: string): Promise<string> {
  if (given !== undefined && given.trim() !== '') return given;
  return keepSecret(join(dataDir, 'secrets-key'), () => randomBytes(32).toString('base64'));
}

/** Makes a path relative if it is in the working directory. */
export function shown(path: string): string {
  const fromHere = relative(process.cwd(), path);
  return fromHere === '' || fromHere.startsWith('..') ? path : fromHere;
}

/** The URL of a store without credentials. */
function address(url: string): string {
  return url.replace(/\/\/[^/]*@/, '//').replace(/\?.*$/, '');
}
