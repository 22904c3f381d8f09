import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EmbeddedError } from '../embedded-error.ts';
import { prepareServiceUser, type ServiceUser } from './service-user.ts';
import { LogFile, Service } from './service.ts';
import type { StopHandler } from './stop.ts';
import { dashboardEnv, openStores, secretsKey, shown, type StartSettings, type Stores } from './stores.ts';

export const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const SERVICES = ['api', 'checker', 'notifier'] as const;
/** Default host, so that other machines cannot reach a trial installation. */
export const LOOPBACK = '127.0.0.1';

export interface LaunchOptions {
  readonly settings: StartSettings;
  /** A free port. */
  readonly port: number;
  readonly dataDir: string;
  readonly stop: StopHandler;
  /** Shows a line about a service or store to the user. */
  readonly say: (line: string) => void;
}

export interface LaunchedSystem {
  readonly stores: Stores;
  readonly secretsKey: string;
  /** User of the services, or null for the current user. */
  readonly uid: number | null;
  /** Service and address of each health server, such as `127.0.0.1:8081`. */
  readonly health: readonly (readonly [service: string, address: string])[];
}

/** Starts the services, and stores that the settings do not specify. */
export async function launch(options: LaunchOptions): Promise<LaunchedSystem> {
  const { settings, port, dataDir, stop } = options;
  const stores = await openStores(options);
  stop.signal.throwIfAborted();
  const key = await secretsKey(process.env['SECRETS_KEY'], dataDir);
  const env = {
    ...process.env,
    ...dashboardEnv(settings.DASHBOARD_DIR),
    PORT: String(port),
    HOST: settings.HOST ?? LOOPBACK,
    HEALTH_HOST: settings.HEALTH_HOST ?? LOOPBACK,
    DATABASE_URL: stores.databaseUrl,
    QUEUE_URL: stores.queueUrl,
    SECRETS_KEY: key,
    // `Service` parses the log and shows only a part of it.
    LOG_FORMAT: 'json',
  };
  const services = SERVICES.map((name) => join('services', name));
  const user = await prepareServiceUser({ root: ROOT, services, dataDir, env });
  const health = await startServices(user, options);
  stop.signal.throwIfAborted();
  return { stores, secretsKey: key, uid: user.owner?.uid ?? null, health: [...health] };
}

/** @returns addresses of health servers by service */
async function startServices(
  { owner, node, root, env }: ServiceUser,
  { dataDir, stop, say }: LaunchOptions,
): Promise<ReadonlyMap<string, string>> {
  const logs = join(dataDir, 'logs');
  await mkdir(logs, { recursive: true });
  const health = new Map<string, string>();
  const services = SERVICES.map((name, index) => {
    const entry = join(root, 'services', name, 'dist', 'main.js');
    if (!existsSync(entry)) throw new EmbeddedError(`${shown(entry)} is missing: the build is incomplete`);
    return new Service({
      name,
      entry,
      log: new LogFile(join(logs, `${name}.log`)),
      say,
      env: { ...env, HEALTH_PORT: healthPort(index) },
      node,
      owner,
      onReady: ({ healthPort: found }) => {
        if (typeof found !== 'number') return;
        const address = hostAndPort(env['HEALTH_HOST'] ?? LOOPBACK, found);
        if (health.has(name)) say(`${name} is running again; health and metrics at ${address}`);
        health.set(name, address);
      },
    });
  });
  stop.onStop(async () => void (await Promise.all(services.map((service) => service.stop()))));
  stop.onForce(() => {
    for (const service of services) service.kill();
  });
  await Promise.all(services.map((service) => service.start()));
  return health;
}

/** Each service needs its own port on the shared machine. The API serves health on its own port. */
function healthPort(index: number): string {
  const given = process.env['HEALTH_PORT'] ?? '';
  return given === '' || given === '0' ? '0' : String(Number(given) + Math.max(0, index - 1));
}

export function hostAndPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
