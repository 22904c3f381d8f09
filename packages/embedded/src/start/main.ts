import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SettingsError } from '@tocsin/runtime/env';
import { errorCode } from '@tocsin/runtime/error-code';
import { isAtLocalhost } from '@tocsin/runtime/listen';
import { EmbeddedError } from '../embedded-error.ts';
import { findFreePort, isPortFree } from '../ports.ts';
import { lockDataFolder } from './data-folder.ts';
import { createFirstApiKey, createSetupLink } from './first-access.ts';
import { prepareServiceUser } from './service-user.ts';
import type { ServiceUser } from './service-user.ts';
import { LogFile, Service } from './service.ts';
import type { ServiceOptions } from './service.ts';
import { handleStop } from './stop.ts';
import type { StopHandler } from './stop.ts';
import { dashboardEnv, openStores, parseStartSettings, secretsKey, shown } from './stores.ts';
import type { StartSettings, Stores } from './stores.ts';
import { welcome } from './welcome.ts';
import type { WelcomeFacts } from './welcome.ts';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const SERVICES = ['api', 'checker', 'notifier'] as const;
const SERVICE_FOLDERS = SERVICES.map((name) => join('services', name));
/** Nobody else is to find a system that somebody tries on a machine. */
const LOOPBACK = '127.0.0.1';

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
  const host = settings.HOST ?? LOOPBACK;
  await checkPort(port, host);
  say('Starting …');
  const stores = await openStores(settings, folder.path, stop.onStop);
  stop.check();
  const env = {
    ...process.env,
    ...dashboardEnv(settings.DASHBOARD_DIR),
    PORT: String(port),
    HOST: host,
    HEALTH_HOST: settings.HEALTH_HOST ?? LOOPBACK,
    DATABASE_URL: stores.databaseUrl,
    QUEUE_URL: stores.queueUrl,
    SECRETS_KEY: await secretsKey(process.env['SECRETS_KEY'], folder.path),
    // We read it, people read what we make of it.
    LOG_FORMAT: 'json',
  };
  const user = await prepareServiceUser({ root: ROOT, services: SERVICE_FOLDERS, dataDir: folder.path, env });
  const healthPorts = await startServices(user, join(folder.path, 'logs'), stop);
  stop.check();
  const { HEALTH_HOST: healthHost } = env;
  await sayWelcome({ ...settings, PORT: port, HOST: host }, stores, folder.path, {
    uid: user.owner?.uid ?? null,
    health: [...healthPorts].map(([name, healthPort]) => [name, addressOf(healthHost, healthPort)]),
  });
}

/** What people can mend is one line; what is our mistake has a stack. */
function describe(error: unknown): string {
  if (error instanceof EmbeddedError || error instanceof SettingsError) return error.message;
  return error instanceof Error && error.stack !== undefined ? error.stack : String(error);
}

async function checkPort(port: number, host: string): Promise<void> {
  // On some systems a server on all addresses and one on 127.0.0.1 may share a port, and the wrong one would answer.
  const taken = isAtLocalhost(host) ? [undefined, LOOPBACK] : [host];
  for (const address of taken) {
    const isFree = await isPortFree(port, address).catch((error: unknown) => {
      if (errorCode(error) !== 'EADDRNOTAVAIL') throw error;
      throw new EmbeddedError(`HOST must be an IP address of this machine, and ${host} is not`);
    });
    if (!isFree)
      throw new EmbeddedError(
        `Port ${port} is in use: set PORT to a free one, e.g. PORT=${port + 1} npm start`,
      );
  }
}

/** @returns the ports of the health servers, by service */
async function startServices(
  { owner, node, root, env }: ServiceUser,
  logs: string,
  stop: StopHandler,
): Promise<ReadonlyMap<string, number>> {
  const healthPorts = new Map<string, number>();
  const services = SERVICES.map((name, index) => {
    const entry = join(root, 'services', name, 'dist', 'main.js');
    if (!existsSync(entry)) throw new EmbeddedError(`There is no ${shown(entry)}: the build is not complete`);
    const onReady: ServiceOptions['onReady'] = ({ healthPort: port }) => {
      if (typeof port !== 'number') return;
      const address = addressOf(env['HEALTH_HOST'] ?? LOOPBACK, port);
      if (healthPorts.has(name)) say(`${name} runs again; health and metrics at ${address}`);
      healthPorts.set(name, port);
    };
    return new Service({
      name,
      entry,
      log: new LogFile(join(logs, `${name}.log`)),
      say,
      env: { ...env, HEALTH_PORT: healthPort(index) },
      node,
      owner,
      onReady,
    });
  });
  stop.onStop(async () => void (await Promise.all(services.map((service) => service.stop()))));
  stop.onForce(() => {
    for (const service of services) service.kill();
  });
  await Promise.all(services.map((service) => service.start()));
  return healthPorts;
}

function addressOf(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** They share a machine: each needs one of its own. */
function healthPort(index: number): string {
  const given = process.env['HEALTH_PORT'] ?? '';
  // The first one, the api, has its own port.
  return given === '' || given === '0' ? '0' : String(Number(given) + Math.max(0, index - 1));
}

async function sayWelcome(
  settings: StartSettings & { readonly HOST: string },
  stores: Stores,
  dataDir: string,
  services: Pick<WelcomeFacts, 'uid' | 'health'>,
): Promise<void> {
  const bootstrapKey = settings.BOOTSTRAP_API_KEY !== undefined;
  const apiKey = bootstrapKey ? null : await createFirstApiKey(stores.databaseUrl);
  const setupPath = await createSetupLink(stores.databaseUrl);
  const { PORT: port, HOST: host, PUBLIC_URL: publicUrl, EGRESS_ALLOW_CIDRS: egressAllowed } = settings;
  const { database, queue } = stores;
  say(
    welcome({
      ...services,
      port,
      host,
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
