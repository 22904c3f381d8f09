import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { localUrl } from '@tocsin/runtime/listen';
import { EmbeddedError } from '../embedded-error.ts';
import type { Owner } from '../files.ts';
import { findFreePort, isPortFree } from '../ports.ts';
import { prepareServiceUser, type ServiceUser } from './service-user.ts';
import { LogFile, Service, type ServiceOptions } from './service.ts';
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
  /** Address on which the gateway listens. Defaults to that of the api. */
  readonly gatewayHost?: string;
  readonly dataDir: string;
  readonly stop: StopHandler;
  /** Shows a line about a service or store to the user. */
  readonly say: (line: string) => void;
}

export interface LaunchedSystem {
  readonly stores: Stores;
  readonly secretsKey: string;
  /** User of the services, or undefined for the current user. */
  readonly owner: Owner | undefined;
  /** Service and address of each health server, such as `127.0.0.1:8081`. */
  readonly health: readonly (readonly [service: string, address: string])[];
  /** Port of the gateway, and URL at which agents connect. */
  readonly agentPort: number;
  readonly agentUrl: string;
  /** Starts an agent with only these environment variables. It stops with the services. */
  readonly startAgent: (env: NodeJS.ProcessEnv, wrapper?: readonly string[]) => Promise<void>;
}

/** Starts the services, and stores that the settings do not specify. */
export async function launch(options: LaunchOptions): Promise<LaunchedSystem> {
  const { settings, port, dataDir, stop } = options;
  const stores = await openStores(options);
  stop.signal.throwIfAborted();
  const agentPort = settings.AGENT_PORT ?? (await nextFreePort(port));
  const key = await secretsKey(process.env['SECRETS_KEY'], dataDir);
  const env = {
    ...process.env,
    ...dashboardEnv(settings.DASHBOARD_DIR),
    PORT: String(port),
    // The notifier does not know the port of the api.
    PUBLIC_URL: settings.PUBLIC_URL ?? localUrl(settings.HOST ?? LOOPBACK, port),
    HOST: settings.HOST ?? LOOPBACK,
    HEALTH_HOST: settings.HEALTH_HOST ?? LOOPBACK,
    AGENT_PORT: String(agentPort),
    AGENT_URL: settings.AGENT_URL ?? agentUrl(settings, agentPort),
    // With AGENT_PORT alone, the checker would be a gateway only.
    REGION: settings.REGION.join(','),
    DATABASE_URL: stores.databaseUrl,
    QUEUE_URL: stores.queueUrl,
    SECRETS_KEY: key,
    // `Service` parses the log and shows only a part of it.
    LOG_FORMAT: 'json',
  };
  const services = [...SERVICES, 'agent'].map((name) => join('services', name));
  const user = await prepareServiceUser({ root: ROOT, services, dataDir, env });
  const health = await startServices(user, options);
  stop.signal.throwIfAborted();
  return {
    stores,
    secretsKey: key,
    owner: user.owner,
    health: [...health],
    agentPort,
    agentUrl: env.AGENT_URL,
    startAgent: async (agentEnv, wrapper) => {
      const agent = createService('agent', user, options, { env: agentEnv, wrapper });
      stop.onStop(() => agent.stop());
      stop.onForce(() => agent.kill());
      await agent.start();
    },
  };
}

function createService(
  name: string,
  { owner, node, root }: ServiceUser,
  { dataDir, say }: LaunchOptions,
  more: Pick<ServiceOptions, 'env' | 'wrapper' | 'onReady'>,
): Service {
  const entry = join(root, 'services', name, 'dist', 'main.js');
  if (!existsSync(entry)) throw new EmbeddedError(`${shown(entry)} is missing: the build is incomplete`);
  const log = new LogFile(join(dataDir, 'logs', `${name}.log`));
  return new Service({ name, entry, log, say, node, owner, ...more });
}

/** @returns addresses of health servers by service */
async function startServices(
  user: ServiceUser,
  options: LaunchOptions,
): Promise<ReadonlyMap<string, string>> {
  const { env } = user;
  const { dataDir, gatewayHost = env['HOST'], stop, say } = options;
  await mkdir(join(dataDir, 'logs'), { recursive: true });
  const health = new Map<string, string>();
  const services = SERVICES.map((name, index) =>
    createService(name, user, options, {
      env: { ...env, HEALTH_PORT: healthPort(index), ...(name === 'checker' && { HOST: gatewayHost }) },
      onReady: ({ healthPort: found }) => {
        if (typeof found !== 'number') return;
        const address = hostAndPort(env['HEALTH_HOST'] ?? LOOPBACK, found);
        if (health.has(name)) say(`${name} is running again; health and metrics at ${address}`);
        health.set(name, address);
      },
    }),
  );
  stop.onStop(async () => void (await Promise.all(services.map((service) => service.stop()))));
  stop.onForce(() => {
    for (const service of services) service.kill();
  });
  await Promise.all(services.map((service) => service.start()));
  return health;
}

/** The gateway shares the host of `PUBLIC_URL`, unless that is the address of a proxy, which speaks HTTPS and routes agents to it. */
export function agentUrl(
  { PUBLIC_URL, HOST }: Pick<StartSettings, 'PUBLIC_URL' | 'HOST'>,
  port: number,
): string {
  if (PUBLIC_URL === undefined) return localUrl(HOST, port);
  return PUBLIC_URL.startsWith('https:') ? PUBLIC_URL : `http://${new URL(PUBLIC_URL).hostname}:${port}`;
}

/** Prefers the next port, so that agents find the gateway after a restart. */
export async function nextFreePort(port: number): Promise<number> {
  return port < 65_535 && (await isPortFree(port + 1, LOOPBACK)) ? port + 1 : findFreePort();
}

/** Each service needs its own port on the shared machine. The API serves health on its own port. */
function healthPort(index: number): string {
  const given = process.env['HEALTH_PORT'] ?? '';
  return given === '' || given === '0' ? '0' : String(Number(given) + Math.max(0, index - 1));
}

export function hostAndPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
