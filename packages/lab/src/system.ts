import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Event } from '@tocsin/contracts/monitors/events';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { MonitorStatus } from '@tocsin/contracts/vocabulary';
import { SecretBox } from '@tocsin/core/secrets/secret-box';
import { createApiKey } from '@tocsin/db/api-keys/api-keys';
import { createChannel } from '@tocsin/db/channels/write-channels';
import { openDatabase } from '@tocsin/db/database/open';
import type { DbContext } from '@tocsin/db/database/open';
import { findMonitorRow } from '@tocsin/db/monitors/monitor-row';
import { ensureAccount } from '@tocsin/db/users/users';
import { createTestDatabase } from '@tocsin/embedded/testing/database';
import { createTestRedis } from '@tocsin/embedded/testing/redis';
import { migrateQueue } from '@tocsin/queue/migrate';
import { type ServiceName, ServiceProcess } from './service-process.ts';
import { untilSeen } from './until-seen.ts';
import { untilTriggered } from './until-triggered.ts';

/** The address that people see: the one origin that an api here takes from browsers. */
export const PUBLIC_URL = 'http://tocsin.example';

export interface SystemOptions {
  readonly queue: 'redis' | 'postgres' | { readonly url: string };
  /** PEM of the CA of the webhook receivers. */
  readonly receiverCa: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** The whole system on this machine: real Postgres, a real queue store, and each service a process of its own. */
export interface System {
  readonly context: DbContext & { accountId: string };
  readonly databaseUrl: string;
  readonly queueUrl: string;
  readonly apiKey: string;
  /** Where the first api started listens. */
  apiPort(): number;
  /** A service to start, kill and start again; further ones of a kind are replicas. */
  service(name: ServiceName, env?: Readonly<Record<string, string>>): ServiceProcess;
  /** Starts one of each. */
  startAll(): Promise<Record<ServiceName, ServiceProcess>>;
  /** A request to the first api started, with the system's key; the body as JSON. */
  request(method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }>;
  createMonitor(fields: Record<string, unknown>): Promise<Monitor>;
  getMonitor(id: string): Promise<{ monitor: Monitor; events: Event[] }>;
  /** Waits until the monitor has this status in Postgres; sends no request to a service. */
  untilStatus(id: string, status: MonitorStatus): Promise<void>;
  /** Checks a monitor now, with status 200. Repeats the request if the machine is too busy; see `untilTriggered`. */
  trigger(id: string, body?: unknown): Promise<{ status: number; body: unknown }>;
  createChannel(url: string, monitorIds: readonly string[]): Promise<{ id: string; secret: string }>;
  close(): Promise<void>;
}

async function openQueue(queue: SystemOptions['queue'], databaseUrl: string): Promise<string> {
  if (typeof queue === 'object') return queue.url;
  return queue === 'redis' ? (await createTestRedis()).url : databaseUrl;
}

/** Prepares a system; no service runs until it is started. */
export async function createSystem(options: SystemOptions): Promise<System> {
  const testDatabase = await createTestDatabase();
  const queueUrl = await openQueue(options.queue, testDatabase.url);
  await migrateQueue(queueUrl);
  const folder = await mkdtemp(join(process.env['TEST_FOLDER'] ?? tmpdir(), 'system-'));
  const caFile = join(folder, 'receivers-ca.pem');
  await writeFile(caFile, options.receiverCa);
  const secretsKey = randomBytes(32);
  const database = openDatabase({
    url: testDatabase.url,
    poolSize: 5,
    applicationName: 'tocsin test',
    onIdleError: () => undefined,
  });
  const { id: accountId } = await ensureAccount(database.db);
  const { key: apiKey } = await createApiKey(database.db, { accountId, name: 'test' });
  const context = { db: database.db, secrets: new SecretBox([secretsKey]), accountId };
  const services: ServiceProcess[] = [];

  const service: System['service'] = (name, env = {}) => {
    const one = new ServiceProcess(
      name,
      {
        DATABASE_URL: testDatabase.url,
        QUEUE_URL: queueUrl,
        SECRETS_KEY: secretsKey.toString('base64'),
        // Any free one: a port that was found free beforehand may be taken by the time of the start.
        PORT: '0',
        PUBLIC_URL,
        HEALTH_PORT: '0',
        LOG_LEVEL: 'info',
        LOG_FORMAT: 'json',
        EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
        WEBHOOK_CA_FILE: caFile,
        API_RATE_LIMIT_PER_MINUTE: '0',
        ...options.env,
        ...env,
      },
      join(folder, `${name}-${services.length}.log`),
    );
    services.push(one);
    return one;
  };

  const apiPort = (): number => {
    const api = services.find((one) => one.name === 'api' && one.port > 0);
    if (!api) throw new Error('No api has been started');
    return api.port;
  };

  const request: System['request'] = async (method, path, body) => {
    const response = await fetch(`http://127.0.0.1:${apiPort()}${path}`, {
      method,
      headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? null : (JSON.parse(text) as unknown) };
  };

  return {
    context,
    databaseUrl: testDatabase.url,
    queueUrl,
    apiKey,
    apiPort,
    service,
    startAll: async () => {
      const all = { api: service('api'), checker: service('checker'), notifier: service('notifier') };
      await Promise.all(Object.values(all).map((one) => one.start()));
      return all;
    },
    request,
    createMonitor: async (fields) => {
      const created = await request('POST', '/api/cli/monitors', fields);
      if (created.status !== 201) throw new Error(`not created: ${JSON.stringify(created)}`);
      return (created.body as { monitor: Monitor }).monitor;
    },
    getMonitor: async (id) => {
      const answer = await request('GET', `/api/cli/monitors/${id}`);
      return answer.body as { monitor: Monitor; events: Event[] };
    },
    untilStatus: (id, status) =>
      untilSeen(`${status} of monitor ${id}`, async () => {
        const monitor = await findMonitorRow(database.db, accountId, id);
        return monitor.status === status;
      }).then(() => undefined),
    trigger: (id, body) => untilTriggered(() => request('POST', `/api/cli/monitors/${id}/trigger`, body)),
    createChannel: (url, monitorIds) =>
      createChannel(context, { accountId, name: 'receiver', url, monitorIds }),
    close: async () => {
      await Promise.all(services.map((one) => one.signal('SIGKILL')));
      await database.close();
      await testDatabase.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
