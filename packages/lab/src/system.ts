import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Event } from '@tocsin/contracts/monitors/events';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { MonitorStatus } from '@tocsin/contracts/vocabulary';
import { SecretBox } from '@tocsin/core/secrets/secret-box';
import { createApiKey } from '@tocsin/db/api-keys/api-keys';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { createChannel } from '@tocsin/db/channels/write-channels';
import { openDatabase, type DbContext, type OpenDatabase } from '@tocsin/db/database/open';
import { findMonitorRow } from '@tocsin/db/monitors/monitor-row';
import { ensureFirstAccount } from '@tocsin/db/accounts/accounts';
import { createTestDatabase } from '@tocsin/embedded/testing/database';
import { createTestRedis } from '@tocsin/embedded/testing/redis';
import { createTemporaryFolder } from '@tocsin/embedded/testing/temporary-folder';
import { until } from '@tocsin/embedded/testing/until';
import { migrateQueue } from '@tocsin/queue/migrate';
import { bearer, fetchApi, type ApiResponse } from './api-client.ts';
import { PUBLIC_URL } from './dashboard-session.ts';
import {
  ServiceProcess,
  type ProgramName,
  type ServiceName,
  type ServiceProcessOptions,
} from './service-process.ts';

type Env = Readonly<Record<string, string>>;

export interface SystemOptions {
  readonly databaseUrl: string;
  readonly queueUrl: string;
  /** Folder for logs and files of the services. */
  readonly folder: string;
  /** Settings of every service. They replace the defaults. */
  readonly env?: Env;
}

interface ServiceOptions extends ServiceProcessOptions {
  /** Names the log. Defaults to the name of the service and a number. */
  readonly label?: string;
}

const NO_STORES: Env = { DATABASE_URL: '', QUEUE_URL: '', SECRETS_KEY: '' };
/** On a busy machine, adding the job may take over 2 s, or no checker may start the check within 5 s. */
const BUSY = new Set([503, 504]);

/** A whole system on this machine, with real stores, an account, and a process for each service. */
export class System {
  readonly database: OpenDatabase;
  readonly databaseUrl: string;
  readonly queueUrl: string;
  readonly folder: string;
  readonly context: DbContext & { readonly accountId: string };
  readonly apiKey: string;
  /** Settings of every service. */
  readonly env: Env;
  readonly services: ServiceProcess[] = [];

  private constructor(parts: SystemOptions & Pick<System, 'database' | 'context' | 'apiKey' | 'env'>) {
    this.databaseUrl = parts.databaseUrl;
    this.queueUrl = parts.queueUrl;
    this.folder = parts.folder;
    this.database = parts.database;
    this.context = parts.context;
    this.apiKey = parts.apiKey;
    this.env = parts.env;
  }

  /** Opens the migrated stores, and creates an account with an API key. No service runs until the caller starts it. */
  static async open(options: SystemOptions): Promise<System> {
    const { databaseUrl, queueUrl } = options;
    const database = openDatabase({
      url: databaseUrl,
      poolSize: 5,
      applicationName: 'tocsin test',
      onIdleError: () => undefined,
    });
    const { id: accountId } = await ensureFirstAccount(database.db);
    const { key: apiKey } = await createApiKey(database.db, systemActor(accountId), { name: 'test' });
    const secretsKey = randomBytes(32);
    const env = {
      DATABASE_URL: databaseUrl,
      QUEUE_URL: queueUrl,
      SECRETS_KEY: secretsKey.toString('base64'),
      // Any free port is used, because a port that was found free beforehand may be in use when the service starts.
      PORT: '0',
      PUBLIC_URL,
      HEALTH_PORT: '0',
      LOG_LEVEL: 'info',
      LOG_FORMAT: 'json',
      EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
      API_RATE_LIMIT_PER_MINUTE: '0',
      ...options.env,
    };
    const context = { db: database.db, secrets: new SecretBox([secretsKey]), accountId };
    return new System({ ...options, database, context, apiKey, env });
  }

  /** Adds a service, which the caller starts. Several services with one name are replicas. */
  service(
    name: ProgramName,
    env: Env = {},
    { label = `${name}-${this.services.length}`, ...options }: ServiceOptions = {},
  ): ServiceProcess {
    const common = name === 'agent' ? { ...this.env, ...NO_STORES } : this.env;
    const logFile = join(this.folder, `${label}.log`);
    const service = new ServiceProcess(name, { ...common, ...env }, logFile, options);
    this.services.push(service);
    return service;
  }

  async startAll(): Promise<Record<ServiceName, ServiceProcess>> {
    const [api, checker, notifier] = [this.service('api'), this.service('checker'), this.service('notifier')];
    await Promise.all([api, checker, notifier].map((one) => one.start()));
    return { api, checker, notifier };
  }

  apiPort(): number {
    const api = this.services.find(({ name, port }) => name === 'api' && port > 0);
    if (!api) throw new Error('No api has been started');
    return api.port;
  }

  /** Sends a request with the API key to the api that was started first. */
  async request(method: string, path: string, body?: unknown): Promise<ApiResponse> {
    const target = { baseUrl: `http://127.0.0.1:${this.apiPort()}`, headers: bearer(this.apiKey) };
    return fetchApi(target, { method, path, body });
  }

  async createMonitor(fields: Record<string, unknown>): Promise<Monitor> {
    const created = await this.request('POST', '/api/cli/monitors', fields);
    if (created.status !== 201) throw new Error(`not created: ${JSON.stringify(created)}`);
    return (created.body as { monitor: Monitor }).monitor;
  }

  /** Creates a region that agents serve. @returns a token for its agents */
  async createAgentRegion(code: string): Promise<string> {
    await until(`region ${code} to be created`, async () => {
      const { status, body } = await this.request('POST', '/api/cli/regions', { code });
      // A busy queue does not respond in time.
      if (status !== 201 && status !== 503) throw new Error(`not created: ${JSON.stringify(body)}`);
      return status === 201;
    });
    const { body } = await this.request('POST', `/api/cli/regions/${code}/agent-tokens`, { name: 'test' });
    return (body as { token: string }).token;
  }

  async getMonitor(id: string): Promise<{ monitor: Monitor; events: Event[] }> {
    const { body } = await this.request('GET', `/api/cli/monitors/${id}`);
    return body as { monitor: Monitor; events: Event[] };
  }

  /** Waits until the monitor has this status in Postgres. Sends no request to a service. */
  async untilStatus(id: string, status: MonitorStatus): Promise<void> {
    await until(`${status} of monitor ${id}`, async () => {
      const monitor = await findMonitorRow(this.context.db, this.context.accountId, id);
      return monitor.status === status;
    });
  }

  /** Checks a monitor now, with status 200. Repeats the request while the machine is too busy. */
  async trigger(id: string, body?: unknown): Promise<ApiResponse> {
    return untilTriggered(() => this.request('POST', `/api/cli/monitors/${id}/trigger`, body));
  }

  createChannel(url: string, monitorIds: readonly string[]): Promise<{ id: string; secret: string }> {
    const { accountId } = this.context;
    return createChannel(this.context, systemActor(accountId), { name: 'receiver', url, monitorIds });
  }

  async close(): Promise<void> {
    await Promise.all(this.services.map((one) => one.signal('SIGKILL')));
    await this.database.close();
  }
}

/**
 * Repeats a trigger until the response has an event.
 * @throws Error at the first response other than the event, 503 and 504
 */
export async function untilTriggered<Triggered extends { readonly status: number }>(
  send: () => Promise<Triggered>,
): Promise<Triggered> {
  return until('a triggered check', async () => {
    const response = await send();
    if (response.status === 200) return response;
    if (BUSY.has(response.status)) return null;
    const body = response instanceof Response ? await response.text() : JSON.stringify(response);
    throw new Error(`The response to the trigger has status ${response.status}: ${body}`);
  });
}

export interface TestSystemOptions {
  readonly queue: 'redis' | 'postgres';
  /** PEM of the CA of the webhook receivers. */
  readonly receiverCa: string;
  readonly env?: Env;
}

/** A system on the servers of the test run, with its own database. */
export async function createSystem({ queue, receiverCa, env }: TestSystemOptions): Promise<System> {
  const testDatabase = await createTestDatabase();
  const databaseUrl = testDatabase.url;
  const queueUrl = queue === 'redis' ? (await createTestRedis()).url : databaseUrl;
  await migrateQueue(queueUrl);
  const folder = await createTemporaryFolder();
  const caFile = join(folder.path, 'receivers-ca.pem');
  await writeFile(caFile, receiverCa);
  const system = await System.open({
    databaseUrl,
    queueUrl,
    folder: folder.path,
    env: { WEBHOOK_CA_FILE: caFile, ...env },
  });
  const close = system.close.bind(system);
  return Object.assign(system, {
    close: async () => {
      await close();
      await testDatabase.drop();
      await folder.remove();
    },
  });
}
