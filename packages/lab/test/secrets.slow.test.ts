import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SecretBox } from '@tocsin/core/secrets/secret-box';
import { renewSetupInvitation } from '@tocsin/db/users/invitations';
import { WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';
import { until } from '@tocsin/embedded/testing/until';
import { bearer } from '@tocsin/lab/api-client';
import { type DashboardRequest, openSession, PUBLIC_URL } from '@tocsin/lab/dashboard-session';
import type { ServiceProcess } from '@tocsin/lab/service-process';
import { createSystem, type System, untilTriggered } from '@tocsin/lab/system';
import { TraceReceiver } from '@tocsin/runtime/testing/trace-receiver';
import { Client, Pool } from 'pg';
import { type EchoTarget, startEchoTarget } from './echo-target.ts';
import { sendInvalidRequests } from './invalid-requests.ts';
import { IN_CLEAR, monitorHeaders, secretOf, secrets } from './marked-secrets.ts';
import {
  findSecrets,
  readCommandLines,
  readFiles,
  readStore,
  readTables,
  type Surface,
  watchStore,
} from './secret-marks.ts';

const SECRET = 'Mark/of "ours"+é';

test.each([
  ['as it is', SECRET],
  ['escaped in JSON', JSON.stringify({ a: SECRET })],
  ['percent-encoded', encodeURIComponent(SECRET)],
  ['in hexadecimal', Buffer.from(SECRET).toString('hex').toUpperCase()],
  ['in base64, two bytes later', Buffer.from(`ab${SECRET} and more`).toString('base64')],
  ['in base64url', Buffer.from(`abc${SECRET}`).toString('base64url')],
])('findSecrets finds a secret %s', (_name, text) => {
  const surfaces = [
    { where: 'a log', text: `before ${text} after` },
    { where: 'elsewhere', text: 'Mark of ours' },
  ];
  expect(findSecrets({ it: SECRET, other: 'something else' }, surfaces)).toEqual(['it at a log']);
});

let receiver: WebhookReceiver;
let collector: TraceReceiver;
let echo: EchoTarget;
let system: System;
let admin: Client;
let store: Awaited<ReturnType<typeof watchStore>>;
/** Port of the metrics, which is an api's own port or another service's health port. */
let ports: number[] = [];
const errors: Surface[] = [];
const processes: ServiceProcess[] = [];

beforeAll(async () => {
  receiver = await WebhookReceiver.start((webhook, response) => {
    response.writeHead(500).end(JSON.stringify({ ...webhook.headers, path: webhook.path }));
  });
  echo = await startEchoTarget();
  collector = await TraceReceiver.start();
  system = await createSystem({
    queue: 'redis',
    receiverCa: receiver.ca,
    env: {
      SECRETS_KEY: [secretOf('first SECRETS_KEY'), secretOf('second SECRETS_KEY')].join(','),
      LOG_LEVEL: 'debug',
      DATABASE_POOL_SIZE: '4',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${secretOf('token of the collector')}`,
    },
  });
  secrets['database password'] = new URL(system.databaseUrl).password;
  secrets['Redis password'] = new URL(system.queueUrl).password;
  secrets['set-up token'] = (await renewSetupInvitation(system.context.db)) ?? '';
  store = await watchStore(system.queueUrl);
  const server = new URL(system.databaseUrl);
  server.pathname = '/postgres';
  admin = new Client({ connectionString: server.href });
  await admin.connect();
});
afterAll(async () => {
  await admin.end();
  store.stop();
  await system.close();
  await receiver.stop();
  await echo.stop();
  await collector.stop();
});

/** Starts each service twice. One logs JSON, and the other logs text for people. */
async function startAll(): Promise<ServiceProcess> {
  const apiEnv = {
    BOOTSTRAP_ADMIN_EMAIL: 'admin@example.com',
    BOOTSTRAP_ADMIN_PASSWORD: secretOf('BOOTSTRAP_ADMIN_PASSWORD'),
    BOOTSTRAP_API_KEY: secretOf('BOOTSTRAP_API_KEY'),
    BOOTSTRAP_READ_KEY: secretOf('BOOTSTRAP_READ_KEY'),
    OIDC_ISSUER: echo.origin,
    OIDC_CLIENT_ID: 'tocsin',
    OPERATOR_API_KEY: secretOf('OPERATOR_API_KEY'),
    OIDC_CLIENT_SECRET: secretOf('OIDC_CLIENT_SECRET'),
  };
  for (const LOG_FORMAT of ['json', 'pretty']) {
    for (const name of ['api', 'checker', 'notifier'] as const) {
      processes.push(system.service(name, { ...(name === 'api' && apiEnv), LOG_FORMAT }));
    }
  }
  const [api] = processes;
  if (api === undefined) throw new Error('no api');
  const ready = await Promise.all(processes.map((one) => one.start()));
  ports = ready.map(({ port, healthPort }) => Number(port ?? healthPort));
  return api;
}

/** Sends a request, and keeps the response if it is an error. */
async function send(port: number, method: string, path: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, redirect: 'manual', ...init });
  if (response.status >= 400)
    errors.push({ where: `${method} ${path.split('?')[0]}`, text: await response.clone().text() });
  return response;
}

/** Starts a notifier with wrong passwords, which logs the errors and retries until it is killed. */
async function startWrongly(): Promise<void> {
  const [redis, database] = [new URL(system.queueUrl), new URL(system.databaseUrl)];
  redis.password = secretOf('wrong Redis password');
  database.password = secretOf('wrong database password');
  const service = system.service('notifier', { QUEUE_URL: redis.href, DATABASE_URL: database.href });
  processes.push(service);
  const started = service.start().catch(() => undefined);
  await until('its complaints', async () => {
    const said = await readFile(service.logFile, 'utf8').catch(() => '');
    return said.includes('WRONGPASS') && said.includes('password authentication failed');
  });
  await service.signal('SIGKILL');
  await started;
}

/** Runs work while Postgres accepts no connections. */
async function withoutDatabase(work: () => Promise<void>): Promise<void> {
  const name = new URL(system.databaseUrl).pathname.slice(1);
  await admin.query(`alter database ${name} allow_connections false`);
  await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name]);
  try {
    await work();
  } finally {
    await admin.query(`alter database ${name} allow_connections true`);
  }
}

test('secrets appear in no log, job, metric, trace, error or command line, and only sealed or hashed in the database', async () => {
  const api = await startAll();
  const { request, cookie } = await openSession(api, {
    email: 'admin@example.com',
    password: secretOf('BOOTSTRAP_ADMIN_PASSWORD'),
  });
  const [token = '', signature = ''] = decodeURIComponent(cookie.split('=')[1] ?? '').split('.');
  secrets['session token'] = token;
  secrets['signature of the session cookie'] = signature;
  const headers = { 'Content-Type': 'application/json', ...bearer(secretOf('BOOTSTRAP_API_KEY')) };
  const monitorIds = await createMonitors(api.port, headers);
  await makeSecrets(api.port, request, monitorIds);

  await putMonitors(api.port, headers, monitorIds[0] ?? '');

  const override = `${echo.origin}/app?token=${secretOf('token in a trigger override')}`;
  const trigger = (id: string): Promise<Response> =>
    send(api.port, 'POST', `/api/cli/monitors/${id}/trigger`, {
      headers,
      body: JSON.stringify({ url: override }),
    });
  for (const id of monitorIds) await untilTriggered(() => trigger(id));
  const pool = new Pool({ connectionString: system.databaseUrl, max: 4 });
  pool.on('error', () => undefined);
  await until('an attempt with a response', async () => {
    const responded = await pool.query("select from attempts where response_excerpt like '%/hook/%'");
    return responded.rows.length > 0;
  });
  const apis = processes.filter(({ name }) => name === 'api');
  const statuses = await Promise.all(apis.map(({ port }) => sendInvalidRequests(send, port)));
  expect(Math.max(...statuses.flat())).toBeLessThan(500);
  await startWrongly();
  await withoutDatabase(async () => {
    await Promise.all([
      ...monitorIds.map(trigger),
      sendInvalidRequests(send, api.port),
      request('GET', '/me'),
      ...ports.map((port) => send(port, 'GET', '/readyz')),
    ]);
  });
  await untilTriggered(() => trigger(monitorIds[0] ?? ''));
  await until('traces', async () => new Set(collector.spans.map(({ name }) => name)).size > 10);

  const tables = await readTables(pool);
  const pages = await Promise.all(
    ports.map(async (port) => ({
      where: '/metrics',
      text: await (await send(port, 'GET', '/metrics')).text(),
    })),
  );
  const logs = await readFiles(processes.map(({ logFile }) => logFile));
  const { rows } = await admin.query<{ data_directory: string }>('show data_directory');
  const surfaces = [
    ...logs,
    ...(await readFiles(rows.map((row) => join(dirname(row.data_directory), 'server.log')))),
    ...pages,
    ...errors,
    { where: 'traces', text: collector.text },
    store.read(),
    ...(await readStore(system.queueUrl)),
    ...(await readCommandLines()),
  ];
  expect(findSecrets(secrets, surfaces)).toEqual([]);
  expect(findSecrets(secrets, tables)).toEqual(IN_CLEAR);
  expect(findSecrets(secrets, await readKeptResponses(pool))).toEqual([
    'token in the URL of a monitor at a kept response',
  ]);

  // The search finds known values, and everything that the test intended has happened.
  expect(findSecrets({ hash: sha256(secretOf('BOOTSTRAP_API_KEY')) }, tables)).toEqual([
    'hash at api_keys.hash',
  ]);
  for (const token of ['token of an invitation', 'set-up token']) {
    expect(findSecrets({ hash: sha256(secretOf(token)) }, tables)).toHaveLength(1);
  }
  for (const id of monitorIds) expect(findSecrets({ id }, [store.read()])).toHaveLength(1);
  const said = logs.map((log) => log.text).join('\n');
  for (const words of ['Webhook attempt', 'WRONGPASS', 'not currently accepting connections', 'Failed query'])
    expect(said).toContain(words);
  expect(errors.length).toBeGreaterThan(30);
  expect(collector.authorization).toBe(`Bearer ${secretOf('token of the collector')}`);
  await pool.end();
});

/** Decrypted responses to failed checks, as seen by callers who may read the monitors' secrets. */
async function readKeptResponses(pool: Pool): Promise<Surface[]> {
  const { rows } = await pool.query<{ sealed: string }>(
    'select sealed_response as sealed from events where sealed_response is not null',
  );
  expect(rows.length).toBeGreaterThan(2);
  const box = new SecretBox([Buffer.from(secretOf('first SECRETS_KEY'), 'base64')]);
  return rows.map(({ sealed }) => ({ where: 'a kept response', text: box.decrypt(sealed) }));
}

const sha256 = (value: string): string => createHash('sha256').update(value).digest('hex');

async function createMonitors(port: number, headers: Record<string, string>): Promise<string[]> {
  const paths = ['/app', '/invalid', '/name', '/coding', '/failing'];
  return Promise.all(
    paths.map(async (path) => {
      const create = (more: object = {}): Promise<Response> => {
        const body = JSON.stringify(monitorOf(path));
        return send(port, 'POST', '/api/cli/monitors', { headers: { ...headers, ...more }, body });
      };
      const created = await create({ 'Idempotency-Key': path });
      expect(created.status).toBe(201);
      expect((await create({ 'Idempotency-Key': path })).status).toBe(201);
      expect((await create()).status).toBe(409);
      return ((await created.json()) as { monitor: { id: string } }).monitor.id;
    }),
  );
}

function monitorOf(path: string): object {
  return {
    name: path,
    url: `${echo.origin}${path}?token=${secretOf('token in the URL of a monitor')}`,
    externalId: path,
    interval: 5,
    method: 'POST',
    headers: monitorHeaders(path === '/invalid' ? 'Basic' : 'Bearer'),
    body: JSON.stringify({ password: secretOf('body of a monitor') }),
    assertions: { bodyNotContains: 'nothing' },
  };
}

/** Other ways to write monitors are an update, an invalid set and a valid set. */
async function putMonitors(port: number, headers: Record<string, string>, id: string): Promise<void> {
  const put = async (path: string, body: object): Promise<number> => {
    const init = { headers, body: JSON.stringify(body) };
    return (await send(port, 'PUT', `/api/cli/monitors${path}`, init)).status;
  };
  const inSet = { ...monitorOf('/app'), externalId: 'in a set' };
  const wrong = { ...inSet, interval: secretOf('body of a monitor') };
  expect(await put(`/${id}`, monitorOf('/app'))).toBe(200);
  expect(await put('', { source: 'files', monitors: [wrong] })).toBe(400);
  expect(await put('', { source: 'files', monitors: [inSet] })).toBe(200);
}

/** Creates the resources for which the system generates secrets, and remembers the secrets. */
async function makeSecrets(port: number, request: DashboardRequest, monitorIds: string[]): Promise<void> {
  const make = async <Made>(path: string, body?: object): Promise<Made> =>
    (await (await request('POST', path, body)).json()) as Made;
  const url = receiver.url(`/hook/${secretOf('token in the URL of a channel')}`);
  const { channel, secret } = await make<{ channel: { id: string }; secret: string }>('/channels', {
    name: 'Ops',
    url,
    monitorIds,
  });
  // Sends a webhook even if no monitor changes its status.
  await request('POST', `/channels/${channel.id}/test`);
  const rotated = await make<{ secret: string }>(`/channels/${channel.id}/rotate-secret`);
  secrets['secret of a channel'] = secret;
  secrets['next secret of a channel'] = rotated.secret;
  secrets['API key'] = (await make<{ key: string }>('/api-keys', { name: 'CI' })).key;
  const { token } = await make<{ token: string }>('/invitations', { role: 'member', email: 'a@example.com' });
  secrets['token of an invitation'] = token;
  const headers = { 'Content-Type': 'application/json', Origin: PUBLIC_URL };
  const password = secretOf('password of an invited person');
  for (const person of [
    { token, password: [password] },
    { token, password },
    { token, password },
    { token: secretOf('set-up token'), password },
  ]) {
    const body = JSON.stringify({ name: 'A', ...person });
    await send(port, 'POST', '/api/dashboard/invitations/accept', { headers, body });
  }
}
