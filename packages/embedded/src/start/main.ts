import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SettingsError } from '@tocsin/runtime/env';
import { EmbeddedError } from '../embedded-error.ts';
import { findFreePort, isPortFree } from '../ports.ts';
import { dashboardEnv } from './dashboard-env.ts';
import { lockDataFolder } from './data-folder.ts';
import { createFirstApiKey } from './first-api-key.ts';
import { LogFile } from './log-file.ts';
import { Service } from './service.ts';
import { createSetupLink } from './setup-link.ts';
import { parseStartSettings } from './settings.ts';
import type { StartSettings } from './settings.ts';
import { handleStop } from './stop.ts';
import type { StopHandler } from './stop.ts';
import { openStores, secretsKey, shown } from './stores.ts';
import type { Stores } from './stores.ts';
import { welcome } from './welcome.ts';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const SERVICES = ['api', 'checker', 'notifier'] as const;

/** `npm start`: the whole system on this machine (design §2). Ends when it is told to stop. */
export async function main(_args: readonly string[]): Promise<void> {
  const stop = handleStop(say);
  try {
    await start(stop);
  } catch (error) {
    if (!stop.requested) {
      process.stderr.write(`${describe(error)}\n`);
      await stop.run(1);
    }
  }
  stop.started();
}

async function start(stop: StopHandler): Promise<void> {
  const envFile = join(ROOT, '.env');
  // What is set in the environment goes before.
  if (existsSync(envFile)) process.loadEnvFile(envFile);
  const settings = parseStartSettings();
  const folder = await lockDataFolder(settings.DATA_DIR);
  stop.onStop(folder.release);
  const port = settings.PORT === 0 ? await findFreePort() : settings.PORT;
  await checkPort(port);
  say('Starting …');
  const stores = await openStores(settings, folder.path, stop.onStop);
  stop.check();
  const env = {
    ...process.env,
    ...dashboardEnv(settings.DASHBOARD_DIR),
    PORT: String(port),
    DATABASE_URL: stores.databaseUrl,
    QUEUE_URL: stores.queueUrl,
    SECRETS_KEY: await secretsKey(process.env['SECRETS_KEY'], folder.path),
    // Names are looked up in Node's thread pool: a few that hang must not hold up the others.
    UV_THREADPOOL_SIZE: process.env['UV_THREADPOOL_SIZE'] ?? '64',
    // We read it, people read what we make of it.
    LOG_FORMAT: 'json',
  };
  await startServices(env, join(folder.path, 'logs'), stop);
  stop.check();
  await sayWelcome({ ...settings, PORT: port }, stores, folder.path);
}

/** What people can mend is one line; what is our mistake has a stack. */
function describe(error: unknown): string {
  if (error instanceof EmbeddedError || error instanceof SettingsError) return error.message;
  return error instanceof Error && error.stack !== undefined ? error.stack : String(error);
}

async function checkPort(port: number): Promise<void> {
  // On some systems a server on all addresses and one on 127.0.0.1 may share a port, and the wrong one would answer.
  if ((await isPortFree(port)) && (await isPortFree(port, '127.0.0.1'))) return;
  throw new EmbeddedError(`Port ${port} is in use: set PORT to a free one, e.g. PORT=${port + 1} npm start`);
}

async function startServices(env: NodeJS.ProcessEnv, logs: string, stop: StopHandler): Promise<void> {
  const services = SERVICES.map((name, index) => {
    const entry = join(ROOT, 'services', name, 'dist', 'main.js');
    if (!existsSync(entry)) throw new EmbeddedError(`There is no ${shown(entry)}: the build is not complete`);
    const log = new LogFile(join(logs, `${name}.log`));
    return new Service({ name, entry, log, say, env: { ...env, HEALTH_PORT: healthPort(index) } });
  });
  stop.onStop(async () => void (await Promise.all(services.map((service) => service.stop()))));
  stop.onForce(() => {
    for (const service of services) service.kill();
  });
  await Promise.all(services.map((service) => service.start()));
}

/** They share a machine: each needs one of its own. */
function healthPort(index: number): string {
  const given = process.env['HEALTH_PORT'] ?? '';
  // The first one, the api, has its own port.
  return given === '' || given === '0' ? '0' : String(Number(given) + Math.max(0, index - 1));
}

async function sayWelcome(settings: StartSettings, stores: Stores, dataDir: string): Promise<void> {
  const bootstrapKey = settings.BOOTSTRAP_API_KEY !== undefined;
  const apiKey = bootstrapKey ? null : await createFirstApiKey(stores.databaseUrl);
  const setupPath = await createSetupLink(stores.databaseUrl);
  const { PORT: port, PUBLIC_URL: publicUrl, EGRESS_ALLOW_CIDRS: egressAllowed } = settings;
  const { database, queue } = stores;
  say(
    welcome({
      port,
      publicUrl,
      database,
      queue,
      dataDir: shown(dataDir),
      apiKey,
      bootstrapKey,
      setupPath,
      adminEmail: settings.BOOTSTRAP_ADMIN_EMAIL,
      egressAllowed,
    }),
  );
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
