import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createApiKey } from '@tocsin/db/api-keys/api-keys';
import { migrate } from '@tocsin/db/database/migrate';
import { openDatabase } from '@tocsin/db/database/open';
import { ensureAccount } from '@tocsin/db/users/users';
import { ADMIN_ENV } from '@tocsin/lab/dashboard-session';
import { PUBLIC_URL } from '@tocsin/lab/dashboard-session';
import { openFolder, serverFolder } from '@tocsin/embedded/program/teardown';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { TcpProxy } from '@tocsin/embedded/testing/tcp-proxy';
import { until } from '@tocsin/embedded/testing/until';
import { migrateQueue } from '@tocsin/queue/migrate';
import { ApiClient } from '../lab/api-client.ts';
import { installHolds } from '../lab/hold-commits.ts';
import { installPoison } from '../lab/poison.ts';
import { Slot } from '../lab/slot.ts';
import { Stores } from '../lab/stores.ts';
import type { World } from '../plan/plan-world.ts';
import { REGIONS, type SlotPlan, SLOTS } from '../plan/slots.ts';
import { NeighbourTargets } from '../world/neighbour-targets.ts';
import { Receivers } from '../world/receivers.ts';
import { Targets } from '../world/targets.ts';
import { Registry } from './registry.ts';
import type { Scene } from './scene.ts';

/** Small, so that a Postgres of few connections serves all replicas. */
const POOL_SIZE = 5;
/** Small, so that the slow checks of another account would take all places if they could. */
const CHECK_CONCURRENCY = 20;
/** Nothing is broken yet: a slow machine may take its time. */
const READY_WITHIN_MS = 600_000;

export interface SceneOptions {
  readonly world: World;
  readonly libfaketime: string | null;
  readonly teardown: Teardown;
}

/** Starts a system of its own: stores, targets, receivers and every replica. */
export async function openScene(options: SceneOptions): Promise<Scene & { readonly folder: string }> {
  const { world, teardown } = options;
  const folder = await openFolder('chaos', teardown);
  await mkdir(join(folder, 'logs'));
  for (const name of ['postgres', 'redis']) await serverFolder(folder, name, teardown);
  const stores = await teardown.start(Stores.start(folder), (one) => one.stop());
  await migrate(stores.databaseUrl);
  await migrateQueue(stores.queueUrl);
  await installHolds(stores);
  await installPoison(stores);
  const addresses = ['127.0.0.1', ...SLOTS.map(({ address }) => address)];
  const targets = await teardown.start(Targets.start(world.monitors, addresses), (one) => one.stop());
  const receivers = await teardown.start(Receivers.start(world.channels, addresses), (one) => one.stop());
  const neighbourTargets = await teardown.start(NeighbourTargets.start(addresses), (one) => one.stop());
  const caFile = join(folder, 'receivers-ca.pem');
  await writeFile(caFile, receivers.ca);
  const dnsDownFile = join(folder, 'dns-down');
  const troubles: string[] = [];
  const env = { ...commonEnv(stores), WEBHOOK_CA_FILE: caFile, CHAOS_DNS_DOWN_FILE: dnsDownFile };
  const slots: Slot[] = [];
  for (const plan of SLOTS) {
    const network = await teardown.start(TcpProxy.start(stores.databaseUrl), (one) => one.stop());
    slots.push(createSlot({ plan, env, network, databaseUrl: stores.databaseUrl, folder, troubles }));
  }
  teardown.onStop(() => Promise.all(slots.map((slot) => slot.close())));
  for (const slot of slots) slot.run();
  await until('every replica to be ready', () => slots.every(({ isReady }) => isReady), READY_WITHIN_MS);
  const apis = slots.filter(({ plan }) => plan.service === 'api');
  const api = new ApiClient(apis, await createKey(stores.databaseUrl));
  await api.signIn();
  const { libfaketime } = options;
  const servers = { targets, receivers, neighbourTargets };
  const parts = { stores, slots, ...servers, api, dnsDownFile, libfaketime, troubles };
  return { ...parts, folder, registry: new Registry(), deadline: Infinity };
}

function commonEnv(stores: Stores): Record<string, string> {
  return {
    ...ADMIN_ENV,
    NODE_ENV: 'production',
    QUEUE_URL: stores.queueUrl,
    SECRETS_KEY: randomBytes(32).toString('base64'),
    PORT: '0',
    HEALTH_PORT: '0',
    PUBLIC_URL,
    REGIONS: REGIONS.join(','),
    DEFAULT_REGION: REGIONS[0],
    DATABASE_POOL_SIZE: String(POOL_SIZE),
    CHECK_CONCURRENCY: String(CHECK_CONCURRENCY),
    LOG_LEVEL: 'info',
    LOG_FORMAT: 'json',
    EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
    API_RATE_LIMIT_PER_MINUTE: '0',
  };
}

interface SlotParts {
  readonly plan: SlotPlan;
  readonly env: Readonly<Record<string, string>>;
  readonly network: TcpProxy;
  readonly databaseUrl: string;
  readonly folder: string;
  readonly troubles: string[];
}

function createSlot({ plan, env, network, databaseUrl, folder, troubles }: SlotParts): Slot {
  const url = new URL(network.through(databaseUrl));
  // So that Postgres tells whose a session is.
  url.searchParams.set('application_name', plan.name);
  return new Slot({
    plan,
    env: {
      ...env,
      DATABASE_URL: url.href,
      CHAOS_ADDRESS: plan.address,
      ...(plan.region !== null && { REGION: plan.region }),
    },
    network,
    logFile: join(folder, 'logs', `${plan.name}.log`),
    nodeOptions: ['--import', fakeResolver()],
    onUnexpectedEnd: ({ slot, at, how }) => troubles.push(`${slot} ${how} at ${new Date(at).toISOString()}`),
  });
}

/** The built one: services are run from what was built. */
function fakeResolver(): string {
  const file = fileURLToPath(new URL('../../dist/lab/fake-resolver.js', import.meta.url));
  return new URL(`file://${file}`).href;
}

async function createKey(databaseUrl: string): Promise<string> {
  const database = openDatabase({
    url: databaseUrl,
    poolSize: 1,
    applicationName: 'chaos',
    onIdleError: () => undefined,
  });
  try {
    const { id: accountId } = await ensureAccount(database.db);
    return (await createApiKey(database.db, { accountId, name: 'chaos' })).key;
  } finally {
    await database.close();
  }
}
