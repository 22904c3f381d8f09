import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { SecretBox } from '@tocsin/core/secrets/secret-box';
import { countSealed } from '@tocsin/db/secrets/unreadable-secrets';
import { ADMIN_ENV, openSession } from '@tocsin/lab/dashboard-session';
import type { ServiceName, ServiceProcess } from '@tocsin/lab/service-process';
import { createSystem, type System } from '@tocsin/lab/system';
import { untilTriggered } from '@tocsin/lab/system';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';
import { until } from '@tocsin/embedded/testing/until';
import { Client } from 'pg';
import { Webhook } from 'standardwebhooks';

const COMMAND = fileURLToPath(new URL('../../../services/api/dist/reseal-secrets/main.js', import.meta.url));
const [OLD, NEW, UNKNOWN] = [randomBytes(32), randomBytes(32), randomBytes(32)].map((key) =>
  key.toString('base64'),
) as [string, string, string];
const idOf = (key: string): string => new SecretBox([Buffer.from(key, 'base64')]).currentKeyId;
const HEADERS = { Authorization: 'Bearer of the monitor' };

let receiver: WebhookReceiver;
let target: HttpTarget;
let system: System;
let services: ServiceProcess[] = [];

beforeAll(async () => {
  receiver = await WebhookReceiver.start();
  target = await HttpTarget.start();
  system = await createSystem({ queue: 'redis', receiverCa: receiver.ca });
});
afterAll(async () => {
  await system.close();
  await Promise.all([receiver, target].map((one) => one.stop()));
});

async function start(name: ServiceName, secretsKey: string): Promise<ServiceProcess> {
  const service = system.service(name, { ...ADMIN_ENV, SECRETS_KEY: secretsKey });
  await service.start();
  return service;
}

/** Restarts the api alone, as the first step of a rolling restart: the other services keep the previous setting. */
async function rollOutApi(secretsKey: string): Promise<ServiceProcess> {
  const [before, ...others] = services;
  const api = await start('api', secretsKey);
  services = [api, ...others];
  expect(await before?.signal('SIGTERM')).toBe(0);
  await expectWorking();
  return api;
}

async function rollOutOthers(secretsKey: string): Promise<void> {
  const [api, ...before] = services;
  const others = await Promise.all([start('checker', secretsKey), start('notifier', secretsKey)]);
  expect(await Promise.all(before.map((one) => one.signal('SIGTERM')))).toEqual([0, 0]);
  services = [...(api ? [api] : []), ...others];
  await expectWorking();
}

const resealEnv = (secretsKey: string): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  DATABASE_URL: system.databaseUrl,
  SECRETS_KEY: secretsKey,
});

async function reseal(secretsKey: string): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [COMMAND], { env: resealEnv(secretsKey) }, (error, stdout, stderr) => {
      resolve({ code: Number(error?.code ?? 0), stdout, stderr });
    });
  });
}

/** Kills the command after it has sealed the monitors, while it waits for a channel that another session has locked. */
async function resealUntilKilled(secretsKey: string): Promise<void> {
  const client = new Client({ connectionString: system.databaseUrl });
  await client.connect();
  await client.query('begin; select from channels for no key update');
  const command = spawn(process.execPath, [COMMAND], { env: resealEnv(secretsKey), stdio: 'ignore' });
  const exit = once(command, 'exit');
  await until('sealed monitors', async () => (await countSealed(system.context.db)).get(idOf(OLD)) === 1);
  command.kill('SIGKILL');
  await exit;
  await client.end();
}

let turns = 0;
let monitor: Monitor;
let secret: string;

/** Checks send the header, the API reads it back, and webhooks are signed with the channel's secret. */
async function expectWorking(): Promise<void> {
  const known = receiver.received.length;
  await rewrite();
  for (const status of [500, 200]) {
    target.status = status;
    await untilTriggered(() => call('POST', `/api/cli/monitors/${monitor.id}/trigger`));
    expect(target.headers).toMatchObject({ authorization: HEADERS.Authorization });
  }
  const webhooks = await until('four webhooks', () => {
    const received = receiver.received.slice(known);
    return received.length >= 4 && received;
  });
  for (const { body, headers } of webhooks) {
    expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toBeTruthy();
  }
  const { status, body } = await call('GET', `/api/cli/monitors/${monitor.id}`);
  expect([status, body]).toMatchObject([200, { monitor: { headers: HEADERS } }]);
}

async function call(
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; body: unknown }> {
  const port = services.find(({ name }) => name === 'api')?.port;
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { Authorization: `Bearer ${system.apiKey}`, 'Content-Type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json() };
}

/** Makes the api seal the monitor's secrets again, with its current key. */
async function rewrite(): Promise<void> {
  turns += 1;
  const port = services.find(({ name }) => name === 'api')?.port;
  const response = await fetch(`http://127.0.0.1:${port}/api/cli/monitors/${monitor.id}`, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${system.apiKey}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ runbookUrl: `https://runbooks.example/${turns}` }),
  });
  expect(response.status).toBe(200);
}

/** Whether an earlier cookie is valid at this api. */
async function isSignedIn({ port }: ServiceProcess, cookie: string): Promise<boolean> {
  const me = await fetch(`http://127.0.0.1:${port}/api/dashboard/me`, { headers: { Cookie: cookie } });
  return me.status === 200;
}

test('a key can be rotated in a running system without loss', async () => {
  // What they seal is sealed with the old key, as before; they can read what others will seal with the new one.
  services = await Promise.all(
    (['api', 'checker', 'notifier'] as const).map((name) => start(name, `${OLD},${NEW}`)),
  );
  const [first] = services;
  if (first === undefined) throw new Error('no api runs');
  monitor = await system.createMonitor({
    name: 'Shop',
    url: target.url(),
    interval: 86_400,
    headers: HEADERS,
  });
  await system.createMonitor({ name: 'Not touched', url: target.url(), interval: 86_400, headers: HEADERS });
  await system.untilStatus(monitor.id, 'UP');
  const { request, cookie } = await openSession(first);
  const created = await request('POST', '/channels', {
    name: 'Ops',
    url: receiver.url('/hook'),
    monitorIds: [monitor.id],
  });
  ({ secret } = (await created.json()) as { secret: string });
  await expectWorking();

  expect(await isSignedIn(first, cookie)).toBe(true);
  expect(await countSealed(system.context.db)).toEqual(new Map([[idOf(OLD), 3]]));
  expect(await isSignedIn(await rollOutApi(`${NEW},${OLD}`), cookie)).toBe(false);
  await resealUntilKilled(`${NEW},${OLD}`);
  expect(await reseal(`${NEW},${OLD}`)).toEqual({
    code: 0,
    stdout: [
      // The api has already sealed one monitor's secrets, and the killed command those of the other.
      `Encrypted 1 of 3 secrets with key ${idOf(NEW)}.`,
      `No secret needs the other keys any more. You can remove them from SECRETS_KEY: ${idOf(OLD)}.`,
      '',
    ].join('\n'),
    stderr: '',
  });
  // The checker and the notifier still have the old key first. They only read secrets, so the order of their keys does not matter.
  const last = await rollOutApi(NEW);
  await rollOutOthers(NEW);
  expect(await countSealed(system.context.db)).toEqual(new Map([[idOf(NEW), 3]]));
  expect(await isSignedIn(last, (await openSession(last)).cookie)).toBe(true);
});

test('a wrong key is reported, changes nothing and can be corrected', async () => {
  const rows = async (): Promise<unknown> =>
    (
      await system.context.db.execute(
        'select sealed_headers, sealed_body, revision from monitors order by id',
      )
    ).rows;
  const before = await rows();
  expect(await reseal(UNKNOWN)).toMatchObject({
    code: 1,
    stdout: expect.stringContaining(
      `3 secrets are encrypted with key ${idOf(NEW)}, which is not in SECRETS_KEY`,
    ),
  });
  expect(await reseal('short')).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^SECRETS_KEY must be 32 bytes in base64 [^\n]*\n$/),
  });
  const running = services;
  services = [];
  const api = system.service('api', { ...ADMIN_ENV, SECRETS_KEY: UNKNOWN });
  await api.start();
  services = [api];
  const complaint = `SECRETS_KEY lacks the key ${idOf(NEW)}, with which 3 secrets are sealed`;
  await until('the complaint', async () => (await readFile(api.logFile, 'utf8')).includes(complaint));
  const read = await call('GET', `/api/cli/monitors/${monitor.id}`);
  expect([read.status, JSON.stringify(read.body)]).toEqual([200, expect.stringContaining('"(unreadable)"')]);
  const update = await call('PUT', `/api/cli/monitors/${monitor.id}`, { name: 'New' });
  expect([update.status, JSON.stringify(update.body)]).toEqual([
    409,
    expect.stringContaining('No key of this server decrypts'),
  ]);
  await api.signal('SIGTERM');
  services = running;
  expect(await rows()).toEqual(before);
  await expectWorking();
});
