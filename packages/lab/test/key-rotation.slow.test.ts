import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SecretBox } from '@tocsin/core/secrets/secret-box';
import { countSealed } from '@tocsin/db/secrets/unreadable-secrets';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';
import { until } from '@tocsin/embedded/testing/until';
import { bearer, type ApiResponse, fetchApi } from '@tocsin/lab/api-client';
import { ADMIN_ENV, openSession } from '@tocsin/lab/dashboard-session';
import type { ServiceName, ServiceProcess } from '@tocsin/lab/service-process';
import { createSystem, type System, untilTriggered } from '@tocsin/lab/system';
import { Webhook } from 'standardwebhooks';

const COMMAND = fileURLToPath(new URL('../../../services/api/dist/reseal-secrets/main.js', import.meta.url));
const newKey = (): string => randomBytes(32).toString('base64');
const [OLD, NEW, UNKNOWN] = [newKey(), newKey(), newKey()];
const idOf = (key: string): string => new SecretBox([Buffer.from(key, 'base64')]).currentKeyId;
const HEADERS = { Authorization: 'Bearer of the monitor' };

let receiver: WebhookReceiver;
let target: HttpTarget;
let system: System;
let api: ServiceProcess;
/** The checker and the notifier. */
let others: ServiceProcess[] = [];
let monitorId: string;
let secret: string;

beforeAll(async () => {
  [receiver, target] = await Promise.all([WebhookReceiver.start(), HttpTarget.start()]);
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

const startOthers = (secretsKey: string): Promise<ServiceProcess[]> =>
  Promise.all([start('checker', secretsKey), start('notifier', secretsKey)]);

/** Restarts only the api, as the first step of a rolling restart does. The other services keep the previous setting. */
async function rollOutApi(secretsKey: string): Promise<void> {
  const before = api;
  api = await start('api', secretsKey);
  expect(await before.signal('SIGTERM')).toBe(0);
  await expectWorking();
}

function reseal(secretsKey: string): Promise<{ code: number; stdout: string; stderr: string }> {
  const { PATH } = process.env;
  const env = { PATH, DATABASE_URL: system.databaseUrl, SECRETS_KEY: secretsKey };
  return new Promise((resolve) => {
    execFile(process.execPath, [COMMAND], { env }, (error, stdout, stderr) => {
      resolve({ code: Number(error?.code ?? 0), stdout, stderr });
    });
  });
}

function call(method: string, path: string, body?: unknown): Promise<ApiResponse> {
  const caller = { baseUrl: `http://127.0.0.1:${api.port}`, headers: bearer(system.apiKey) };
  return fetchApi(caller, { method, path: `/api/cli/monitors/${monitorId}${path}`, body });
}

let turns = 0;
/** Checks send the header, the API writes it again and reads it back, and webhooks are signed with the channel's secret. */
async function expectWorking(): Promise<void> {
  const known = receiver.received.length;
  turns += 1;
  const runbookUrl = `https://runbooks.example/${turns}`;
  expect((await call('PUT', '', { runbookUrl })).status).toBe(200);
  for (const status of [500, 200]) {
    target.status = status;
    await untilTriggered(() => call('POST', '/trigger'));
    expect(target.headers).toMatchObject({ authorization: HEADERS.Authorization });
  }
  await until('four webhooks', () => receiver.received.length >= known + 4);
  for (const { body, headers } of receiver.received.slice(known)) {
    expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toBeTruthy();
  }
  expect(await call('GET', '')).toMatchObject({ status: 200, body: { monitor: { headers: HEADERS } } });
}

/** Returns whether a cookie from before the rotation is valid for the current api. */
async function isSignedIn(cookie: string): Promise<boolean> {
  const me = await fetch(`http://127.0.0.1:${api.port}/api/dashboard/me`, { headers: { Cookie: cookie } });
  return me.status === 200;
}

test('a key can be rotated in a running system without loss', async () => {
  // All services still seal with the old key, but can now read what others will seal with the new one.
  [api, others] = await Promise.all([start('api', `${OLD},${NEW}`), startOthers(`${OLD},${NEW}`)]);
  const fields = { url: target.url(), interval: 86_400, headers: HEADERS };
  monitorId = (await system.createMonitor({ ...fields, name: 'Shop' })).id;
  await system.createMonitor({ ...fields, name: 'Not touched' });
  await system.untilStatus(monitorId, 'UP');
  const { request, cookie } = await openSession(api);
  const channel = { name: 'Ops', url: receiver.url('/hook'), monitorIds: [monitorId] };
  ({ secret } = (await (await request('POST', '/channels', channel)).json()) as { secret: string });
  await expectWorking();
  expect(await isSignedIn(cookie)).toBe(true);
  expect(await countSealed(system.context.db)).toEqual(new Map([[idOf(OLD), 3]]));

  await rollOutApi(`${NEW},${OLD}`);
  expect(await isSignedIn(cookie)).toBe(false);
  expect(await reseal(`${NEW},${OLD}`)).toEqual({
    code: 0,
    stdout: [
      // The api has already sealed one monitor's secrets.
      `Encrypted 2 of 3 secrets with key ${idOf(NEW)}.`,
      `No secret needs the other keys any more. You can remove them from SECRETS_KEY: ${idOf(OLD)}.`,
      '',
    ].join('\n'),
    stderr: '',
  });
  // The checker and the notifier still have the old key first. They only read secrets, so the order of their keys does not matter.
  await rollOutApi(NEW);
  const before = others;
  others = await startOthers(NEW);
  expect(await Promise.all(before.map((one) => one.signal('SIGTERM')))).toEqual([0, 0]);
  await expectWorking();
  expect(await countSealed(system.context.db)).toEqual(new Map([[idOf(NEW), 3]]));
});

test('a wrong key is reported, changes nothing and can be corrected', async () => {
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
  const right = api;
  api = await start('api', UNKNOWN);
  const complaint = `SECRETS_KEY lacks the key ${idOf(NEW)}, with which 3 secrets are sealed`;
  await until('the complaint', async () => (await readFile(api.logFile, 'utf8')).includes(complaint));
  expect((await call('PUT', '', { name: 'New' })).status).toBe(409);
  await api.signal('SIGTERM');
  api = right;
  await expectWorking();
});
