import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openSession, type DashboardRequest } from '@tocsin/e2e/dashboard-session';
import type { ServiceProcess } from '@tocsin/e2e/service-process';
import { createSystem, PUBLIC_URL, type System } from '@tocsin/e2e/system';
import { until } from '@tocsin/e2e/until';
import { WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';
import { Client, Pool } from 'pg';
import { startEchoTarget, type EchoTarget } from './echo-target.ts';
import { findSecrets, readCommandLines, readRedis, readTables, type Surface } from './secret-marks.ts';

/** A secret that nothing else in the system looks like. */
const mark = (name: string): string => `${name}-${randomBytes(9).toString('base64url')}-mark`;
const apiKey = (): string => `tocsin_live_${randomBytes(24).toString('hex')}`;
const secretsKeys = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];

const secrets: Record<string, string> = {
  'first SECRETS_KEY': secretsKeys[0] ?? '',
  'second SECRETS_KEY': secretsKeys[1] ?? '',
  BOOTSTRAP_ADMIN_PASSWORD: mark('admin'),
  BOOTSTRAP_API_KEY: apiKey(),
  BOOTSTRAP_READ_KEY: apiKey(),
  OIDC_CLIENT_SECRET: mark('oidc/&+'),
  'OIDC code': mark('code'),
  'wrong Redis password': mark('redis'),
  'wrong database password': mark('postgres'),
  'Authorization of a monitor': mark('auth'),
  'Cookie of a monitor': mark('cookie'),
  'custom header of a monitor': mark('Custom'),
  'body of a monitor': mark('body'),
  'wrong password': mark('wrong'),
  'password of an invited person': mark('invited'),
  'unknown API key': apiKey(),
  // Kept in clear where design §5 has them, see `IN_CLEAR`, and nowhere else.
  'token in the URL of a monitor': mark('url'),
  'token in a trigger override': mark('override'),
  'token in the URL of a channel': mark('hook'),
};
const of = (name: string): string => secrets[name] ?? '';

/**
 * What the database keeps in clear on purpose: URLs (design §5 seals header values, bodies and channel secrets), for people
 * must see what is watched, and session tokens, which sign nobody in without the signature of the cookie.
 */
const IN_CLEAR = [
  'session token at sessions.token',
  'token in a trigger override at events.url',
  'token in a trigger override at triggers.url',
  // What a receiver itself answers.
  'token in the URL of a channel at attempts.response_excerpt',
  'token in the URL of a channel at channels.url',
  'token in the URL of a monitor at monitors.url',
];

let receiver: WebhookReceiver;
let echo: EchoTarget;
let system: System;
let admin: Client;
const errors: Surface[] = [];
const processes: ServiceProcess[] = [];

beforeAll(async () => {
  receiver = await WebhookReceiver.start((webhook, response) => {
    response.writeHead(500).end(JSON.stringify({ ...webhook.headers, path: webhook.path }));
  });
  echo = await startEchoTarget();
  system = await createSystem({
    queue: 'redis',
    receiverCa: receiver.ca,
    env: { SECRETS_KEY: secretsKeys.join(','), LOG_LEVEL: 'debug', DATABASE_POOL_SIZE: '4' },
  });
  secrets['database password'] = new URL(system.databaseUrl).password;
  secrets['Redis password'] = new URL(system.queueUrl).password;
  const server = new URL(system.databaseUrl);
  server.pathname = '/postgres';
  admin = new Client({ connectionString: server.href });
  await admin.connect();
}, 60_000);
afterAll(async () => {
  await admin.end();
  await system.close();
  await receiver.stop();
  await echo.stop();
});

/** One of each that logs as JSON, and one of each that logs for people. */
async function startAll(): Promise<ServiceProcess> {
  const apiEnv = {
    BOOTSTRAP_ADMIN_EMAIL: 'admin@example.com',
    BOOTSTRAP_ADMIN_PASSWORD: of('BOOTSTRAP_ADMIN_PASSWORD'),
    BOOTSTRAP_API_KEY: of('BOOTSTRAP_API_KEY'),
    BOOTSTRAP_READ_KEY: of('BOOTSTRAP_READ_KEY'),
    OIDC_ISSUER: echo.origin,
    OIDC_CLIENT_ID: 'tocsin',
    OIDC_CLIENT_SECRET: of('OIDC_CLIENT_SECRET'),
  };
  for (const LOG_FORMAT of ['json', 'pretty']) {
    for (const name of ['api', 'checker', 'notifier'] as const) {
      processes.push(system.service(name, { ...(name === 'api' && apiEnv), LOG_FORMAT }));
    }
  }
  const [api] = processes;
  if (api === undefined) throw new Error('no api');
  await Promise.all(processes.map((one) => one.start()));
  return api;
}

/** A request whose answer is kept where it is an error. */
async function ask(port: number, method: string, path: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, redirect: 'manual', ...init });
  if (response.status >= 400)
    errors.push({ where: `${method} ${path.split('?')[0]}`, text: await response.clone().text() });
  return response;
}

const monitorHeaders = (): Record<string, string> => ({
  Authorization: `Bearer ${of('Authorization of a monitor')}`,
  Cookie: `theme=dark; session=${of('Cookie of a monitor')}`,
  'X-Custom': of('custom header of a monitor'),
});

/** Requests that are wrong, each with a secret in it, to this api. */
async function askWrongly(port: number): Promise<void> {
  const json = { 'Content-Type': 'application/json', Authorization: `Bearer ${of('BOOTSTRAP_API_KEY')}` };
  const monitor = { name: 'x', url: 'http://x.example', headers: monitorHeaders() };
  const bodies = [
    `{"name": ${of('body of a monitor')}}`,
    JSON.stringify(monitor).slice(0, -5),
    JSON.stringify({ ...monitor, headers: of('Authorization of a monitor') }),
    JSON.stringify({ ...monitor, headers: { 'X-Custom': [of('custom header of a monitor')] } }),
    JSON.stringify({ ...monitor, headers: { 'X-Custom': `${of('custom header of a monitor')}\n` } }),
    JSON.stringify({ ...monitor, body: { secret: of('body of a monitor') } }),
    JSON.stringify({ ...monitor, method: of('body of a monitor') }),
    JSON.stringify({ ...monitor, url: `http://u:${of('body of a monitor')}@x.example` }),
    JSON.stringify({ ...monitor, interval: -1 }),
    'x'.repeat(300_000) + of('body of a monitor'),
  ];
  for (const body of bodies) {
    expect((await ask(port, 'POST', '/api/cli/monitors', { headers: json, body })).status).toBeLessThan(500);
  }
  const unknown = `/api/cli/monitors/${of('unknown API key')}?key=${of('unknown API key')}`;
  for (const key of [of('unknown API key'), of('BOOTSTRAP_READ_KEY')]) {
    await ask(port, 'POST', unknown, { headers: { Authorization: `Bearer ${key}` } });
  }
  const browser = { 'Content-Type': 'application/json', Origin: PUBLIC_URL };
  for (const body of [
    JSON.stringify({ email: 'admin@example.com', password: of('wrong password') }),
    `{"email": "admin@example.com", "password": ${of('wrong password')}}`,
    JSON.stringify({ email: of('wrong password'), password: [of('wrong password')] }),
  ]) {
    await ask(port, 'POST', '/api/auth/sign-in/email', { headers: browser, body });
  }
  const begun = await ask(port, 'POST', '/api/auth/sign-in/social', {
    headers: browser,
    body: JSON.stringify({ provider: 'oidc', callbackURL: `${PUBLIC_URL}/` }),
  });
  const { url } = (await begun.json()) as { url: string };
  const query = new URLSearchParams({
    code: of('OIDC code'),
    state: new URL(url).searchParams.get('state') ?? '',
  });
  const Cookie = begun.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
  await ask(port, 'GET', `/api/auth/callback/oidc?${query.toString()}`, { headers: { Cookie } });
}

/** Settings that cannot work: services that say so and end, or try again and again until they are killed. */
async function startWrongly(): Promise<void> {
  const wrongRedis = new URL(system.queueUrl);
  wrongRedis.password = of('wrong Redis password');
  const wrongDatabase = new URL(system.databaseUrl);
  wrongDatabase.password = of('wrong database password');
  const wrongs: [Record<string, string>, RegExp][] = [
    [{ QUEUE_URL: wrongRedis.href }, /WRONGPASS/],
    [{ DATABASE_URL: wrongDatabase.href }, /password authentication failed/],
    [{ DATABASE_URL: `postgres://u:${of('wrong database password')}/#@127.0.0.1:1/x` }, /error/i],
    [{ QUEUE_URL: `redis+cluster://:${of('wrong Redis password')}/x@h` }, /QUEUE_URL/],
    [{ SECRETS_KEY: `${of('first SECRETS_KEY')},short` }, /SECRETS_KEY/],
  ];
  await Promise.all(
    wrongs.map(async ([env, complaint]) => {
      const service = system.service('notifier', env);
      processes.push(service);
      const started = service.start().catch(() => undefined);
      await until(`${complaint}`, async () =>
        complaint.test(await readFile(service.logFile, 'utf8').catch(() => '')),
      );
      await service.signal('SIGKILL');
      await started;
    }),
  );
}

/** Postgres takes no connections while requests with secrets, checks and deliveries come. */
async function withoutDatabase(work: () => Promise<void>): Promise<void> {
  const name = new URL(system.databaseUrl).pathname.slice(1);
  await admin.query(`alter database ${name} allow_connections false`);
  await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name]);
  await work();
  await admin.query(`alter database ${name} allow_connections true`);
}

test('secrets are in no log, job, metric, error or command line, and in the database sealed or hashed', async () => {
  const api = await startAll();
  const { request, cookie } = await openSession(api, {
    email: 'admin@example.com',
    password: of('BOOTSTRAP_ADMIN_PASSWORD'),
  });
  const [token = '', signature = ''] = decodeURIComponent(cookie.split('=')[1] ?? '').split('.');
  secrets['session token'] = token;
  secrets['signature of the session cookie'] = signature;
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${of('BOOTSTRAP_API_KEY')}` };
  const monitorIds = await createMonitors(api.port, headers);
  await makeSecrets(api.port, request, monitorIds);

  const override = `${echo.origin}/app?token=${of('token in a trigger override')}`;
  const trigger = (id: string): Promise<Response> =>
    ask(api.port, 'POST', `/api/cli/monitors/${id}/trigger`, {
      headers,
      body: JSON.stringify({ url: override }),
    });
  for (const id of monitorIds) expect((await trigger(id)).status).toBe(200);
  const pool = new Pool({ connectionString: system.databaseUrl, max: 4 });
  pool.on('error', () => undefined);
  await until(
    'an attempt that was answered',
    async () => (await pool.query('select from attempts where response_excerpt is not null')).rowCount,
  );
  await Promise.all(processes.filter(({ name }) => name === 'api').map(({ port }) => askWrongly(port)));
  await startWrongly();
  await withoutDatabase(async () => {
    await Promise.all([
      ...monitorIds.map(trigger),
      askWrongly(api.port).catch(() => undefined),
      request('GET', '/me'),
      ask(api.port, 'GET', '/readyz'),
    ]);
  });
  await until(
    'a check after the outage',
    async () => (await trigger(monitorIds[0] ?? '')).status === 200,
    30_000,
  );

  const tables = await readTables(pool);
  const metrics = await Promise.all(
    processes.filter(({ name }) => name === 'api').map(({ port }) => ask(port, 'GET', '/metrics')),
  );
  const logs = await Promise.all(
    processes.map(async ({ logFile }) => ({ where: logFile, text: await readFile(logFile, 'utf8') })),
  );
  const bodies = await Promise.all(
    metrics.map(async (page) => ({ where: '/metrics', text: await page.text() })),
  );
  const surfaces = [
    ...logs,
    ...bodies,
    ...errors,
    ...(await readRedis(system.queueUrl)),
    ...(await readCommandLines()),
  ];
  expect(findSecrets(secrets, surfaces)).toEqual([]);
  expect(findSecrets(secrets, tables)).toEqual(IN_CLEAR);

  // The search finds what is there, and all that was meant to happen did.
  expect(findSecrets({ hash: sha256(of('BOOTSTRAP_API_KEY')) }, tables)).toEqual(['hash at api_keys.hash']);
  expect(findSecrets({ hash: sha256(of('token of an invitation')) }, tables)).toHaveLength(1);
  const said = logs.map((log) => log.text).join('\n');
  for (const words of ['Webhook attempt', 'WRONGPASS', 'not currently accepting connections', 'Failed query'])
    expect(said).toContain(words);
  expect(errors.length).toBeGreaterThan(30);
  await pool.end();
}, 120_000);

const sha256 = (value: string): string => createHash('sha256').update(value).digest('hex');

async function createMonitors(port: number, headers: Record<string, string>): Promise<string[]> {
  const paths = ['/app', '/invalid', '/name', '/coding', '/failing'];
  return Promise.all(
    paths.map(async (path) => {
      const monitor = {
        name: path,
        url: `${echo.origin}${path}?token=${of('token in the URL of a monitor')}`,
        externalId: path,
        interval: 5,
        method: 'POST',
        headers: monitorHeaders(),
        body: JSON.stringify({ password: of('body of a monitor') }),
        assertions: { bodyNotContains: 'nothing' },
      };
      const init = { headers, body: JSON.stringify(monitor) };
      const created = await ask(port, 'POST', '/api/cli/monitors', init);
      expect(created.status).toBe(201);
      expect((await ask(port, 'POST', '/api/cli/monitors', init)).status).toBe(409);
      return ((await created.json()) as { monitor: { id: string } }).monitor.id;
    }),
  );
}

/** Makes what the system itself makes secrets for, and remembers these. */
async function makeSecrets(port: number, request: DashboardRequest, monitorIds: string[]): Promise<void> {
  const make = async <Made>(path: string, body?: object): Promise<Made> =>
    (await (await request('POST', path, body)).json()) as Made;
  const url = receiver.url(`/hook/${of('token in the URL of a channel')}`);
  const { channel, secret } = await make<{ channel: { id: string }; secret: string }>('/channels', {
    name: 'Ops',
    url,
    monitorIds,
  });
  const rotated = await make<{ secret: string }>(`/channels/${channel.id}/rotate-secret`);
  secrets['secret of a channel'] = secret;
  secrets['next secret of a channel'] = rotated.secret;
  secrets['API key'] = (await make<{ key: string }>('/api-keys', { name: 'CI' })).key;
  const { token } = await make<{ token: string }>('/invitations', { role: 'member', email: 'a@example.com' });
  secrets['token of an invitation'] = token;
  const headers = { 'Content-Type': 'application/json', Origin: PUBLIC_URL };
  const password = of('password of an invited person');
  for (const person of [{ password: [password] }, { password }, { password }]) {
    const body = JSON.stringify({ token, name: 'A', ...person });
    await ask(port, 'POST', '/api/dashboard/invitations/accept', { headers, body });
  }
}
