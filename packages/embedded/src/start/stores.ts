import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { MigrationReport } from '@tocsin/db/database/apply-migrations';
import { migrate } from '@tocsin/db/database/migrate';
import { migrateQueue } from '@tocsin/queue/migrate';
import { parseEnv } from '@tocsin/runtime/env';
import { errorCode } from '@tocsin/runtime/error-code';
import { parseRegionQueueUrls, settings } from '@tocsin/runtime/settings';
import type { Settings } from '@tocsin/runtime/settings';
import { EmbeddedError } from '../embedded-error.ts';
import { startPostgres } from '../postgres.ts';
import { findRedisServer, startRedis } from '../redis.ts';
import { keepSecret } from '../server-folder.ts';

type FilledIn = 'DATABASE_URL' | 'QUEUE_URL' | 'SECRETS_KEY';
export type StartSettings = Omit<Settings, FilledIn> & {
  readonly [Name in FilledIn]?: Settings[Name] | undefined;
};

/** All variables, checked before anything starts; what `npm start` fills in itself may be absent. */
export function parseStartSettings(): StartSettings {
  parseRegionQueueUrls();
  return parseEnv(settings.partial({ DATABASE_URL: true, QUEUE_URL: true, SECRETS_KEY: true }));
}

const BUILT = fileURLToPath(new URL('../../../../services/dashboard/dist/', import.meta.url));

/**
 * The setting that has the api serve the dashboard: the folder given, or the one that `bootstrap.js` builds. None where nothing is
 * built: the api runs alone.
 */
export function dashboardEnv(given: string | undefined, built: string = BUILT): { DASHBOARD_DIR?: string } {
  const folder = given ?? (existsSync(join(built, 'index.html')) ? built : undefined);
  return folder === undefined ? {} : { DASHBOARD_DIR: folder };
}

export interface Stores {
  readonly databaseUrl: string;
  readonly queueUrl: string;
  /** What was taken and why, a line each for people. */
  readonly database: string;
  readonly queue: string;
}

/** Puts something on the list of what has to be stopped, in reverse order. */
export type OnStop = (stop: () => Promise<void>) => void;

/** The servers of the settings, else our own; migrated and ready. */
export async function openStores(settings: StartSettings, dataDir: string, onStop: OnStop): Promise<Stores> {
  const database = await openDatabase(settings, dataDir, onStop);
  const queue = await openQueue(settings, dataDir, database.url, onStop);
  await prepare('database', () =>
    migrate(settings.DATABASE_DIRECT_URL ?? database.url, { onReport: tellDeletedRows }),
  );
  for (const url of new Set([queue.url, ...parseRegionQueueUrls().values()])) {
    await prepare('queue', () => migrateQueue(url));
  }
  return { databaseUrl: database.url, queueUrl: queue.url, database: database.told, queue: queue.told };
}

function tellDeletedRows({ migration, rows }: MigrationReport): void {
  process.stderr.write(`The migration ${migration} deleted ${rows.length} rows: ${JSON.stringify(rows)}\n`);
}

async function prepare(store: string, migrate: () => Promise<void>): Promise<void> {
  try {
    await migrate();
  } catch (error) {
    const reason =
      errorCode(error) ?? (error instanceof Error ? error.message.split('\n')[0] : String(error));
    throw new EmbeddedError(`The ${store} could not be prepared: ${reason}`, { cause: error });
  }
}

interface Store {
  readonly url: string;
  readonly told: string;
}

async function openDatabase(settings: StartSettings, dataDir: string, onStop: OnStop): Promise<Store> {
  if (settings.DATABASE_URL !== undefined) {
    return { url: settings.DATABASE_URL, told: `${address(settings.DATABASE_URL)} (DATABASE_URL)` };
  }
  const server = await startPostgres({ dataDir: join(dataDir, 'postgres') });
  onStop(server.stop);
  return { url: server.url, told: `embedded, on 127.0.0.1:${server.port}, data in ${shown(server.folder)}` };
}

async function openQueue(
  settings: StartSettings,
  dataDir: string,
  databaseUrl: string,
  onStop: OnStop,
): Promise<Store> {
  if (settings.QUEUE_URL !== undefined) {
    return { url: settings.QUEUE_URL, told: `${address(settings.QUEUE_URL)} (QUEUE_URL)` };
  }
  const binary = findRedisServer();
  if (binary === null) {
    return { url: databaseUrl, told: 'PostgreSQL (there is no redis-server or valkey-server on the PATH)' };
  }
  try {
    const server = await startRedis({ dataDir: join(dataDir, 'redis'), appendOnly: true });
    onStop(server.stop);
    return {
      url: server.url,
      told: `Redis, a private one on 127.0.0.1:${server.port} (${binary} is on the PATH)`,
    };
  } catch (error) {
    if (!(error instanceof EmbeddedError)) throw error;
    return { url: databaseUrl, told: `PostgreSQL. ${error.message}` };
  }
}

/** The given key, else the one made at the first start. Losing it makes stored secrets unreadable. */
export async function secretsKey(given: string | undefined, dataDir: string): Promise<string> {
  if (given !== undefined && given.trim() !== '') return given;
  return keepSecret(join(dataDir, 'secrets-key'), () => randomBytes(32).toString('base64'));
}

/** A path as short as it gets. */
export function shown(path: string): string {
  const fromHere = relative(process.cwd(), path);
  return fromHere === '' || fromHere.startsWith('..') ? path : fromHere;
}

/** Where a store is, without its credentials. */
function address(url: string): string {
  return url.replace(/\/\/[^/]*@/, '//').replace(/\?.*$/, '');
}
