import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from '@jest/globals';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { generateApiKey } from '@tocsin/core/secrets/tokens';
import { SecretBox } from '@tocsin/core/secrets/secret-box';
import { openDatabase, type OpenDatabase } from '@tocsin/db/database/open';
import { createTestDatabase } from '@tocsin/embedded/testing/database';
import { createTestRedis } from '@tocsin/embedded/testing/redis';
import { until } from '@tocsin/embedded/testing/until';
import { openQueueStore } from '@tocsin/queue/open-queue-store';
import supertest from 'supertest';
import { startFakeChecker } from './testing/fake-checker.ts';
import { MONITORS } from './testing/monitors.ts';

const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const key = generateApiKey();
const authorization = `Bearer ${key}`;

const children: ChildProcess[] = [];
const database = await createTestDatabase();
const env = {
  PATH: process.env['PATH'],
  PORT: '0',
  DATABASE_URL: database.url,
  QUEUE_URL: (await createTestRedis()).url,
  SECRETS_KEY: randomBytes(32).toString('base64'),
  BOOTSTRAP_API_KEY: key,
  LOG_FORMAT: 'json',
};
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await database.drop();
});

interface Started {
  readonly child: ChildProcess;
  /** Exit code and output of the service. */
  readonly end: Promise<{ code: unknown; out: string; err: string }>;
}

function open(): OpenDatabase {
  return openDatabase({
    url: database.url,
    poolSize: 2,
    applicationName: 'test',
    onIdleError: () => undefined,
  });
}

function start(settings: NodeJS.ProcessEnv = {}): Started {
  const child = fork(MAIN, {
    env: { ...env, ...settings },
    execArgv: [],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  children.push(child);
  if (child.stdout === null || child.stderr === null) throw new Error('no output');
  const output = Promise.all([once(child, 'exit'), text(child.stdout), text(child.stderr)]);
  return { child, end: output.then(([[code], out, err]) => ({ code, out, err })) };
}

interface SlowChecker {
  hasBegun(): boolean;
  /** Gives the check its result. */
  finish(): void;
  close(): Promise<void>;
}

/** A checker of the default region. It gives a trigger an hour to start, so that it is never too late on a slow machine. */
async function startSlowChecker(): Promise<SlowChecker> {
  const opened = open();
  await until('the trigger is stored', async () => {
    const { rowCount } = await opened.pool.query(`update triggers set not_after = now() + interval '1 hour'`);
    return (rowCount ?? 0) > 0;
  });
  const store = openQueueStore(env['QUEUE_URL'] ?? '', () => undefined);
  let begun = false;
  let finish: (() => void) | undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const context = { db: opened.db, secrets: new SecretBox([randomBytes(32)]) };
  const checker = startFakeChecker(store, context, 'default', async () => {
    begun = true;
    await finished;
    return {};
  });
  return {
    hasBegun: () => begun,
    finish: () => finish?.(),
    close: async () => {
      await checker.close();
      await store.close();
      await opened.close();
    },
  };
}

async function isRefused(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(false)).once('error', () => resolve(true));
  }).finally(() => socket.destroy());
}

async function portOf({ child }: Started): Promise<number> {
  const [message] = (await once(child, 'message')) as [{ type: string; port: number }];
  if (message.type !== 'ready') throw new Error('not ready');
  return message.port;
}

describe('the service', () => {
  test('serves requests, keeps schedules and stops cleanly, so that a waiting trigger gets a response', async () => {
    const service = start();
    const port = await portOf(service);
    const http = supertest(`http://127.0.0.1:${port}`);
    await until('the service is ready', async () => (await http.get('/readyz')).text === '{"status":"ok"}');
    const created = await http
      .post(MONITORS)
      .set('Authorization', authorization)
      // The longest wait of a trigger.
      .send({ name: 'Shop', url: 'https://shop.example', timeout: 60 });
    expect(created.status).toBe(201);
    const { id } = (created.body as { monitor: Monitor }).monitor;
    await until('the schedule is in the store', async () => {
      const { text } = await http.get('/metrics');
      // The reconciler may be faster than the applier.
      return /tocsin_schedules_synced_total\{region="default",cause="(commit|unapplied|missing)",action="applied"\} 1/.test(
        text,
      );
    });
    const trigger = http.post(`${MONITORS}/${id}/trigger`).set('Authorization', authorization).then();
    // A checker takes it before the service stops, and returns the result after that.
    const checker = await startSlowChecker();
    await until('the check has begun', () => checker.hasBegun());
    await until('an audit is done', async () => {
      const { text } = await http.get('/metrics');
      return text.includes('tocsin_schedule_audit_age_seconds{region="default"}');
    });
    service.child.kill('SIGTERM');
    await until('new connections are refused', () => isRefused(port));
    checker.finish();
    expect((await trigger).status).toBe(200);
    await checker.close();
    const { code, out } = await service.end;
    expect([code, out.includes('"Stopped"')]).toEqual([0, true]);
    expect(out).not.toContain(key);
  });

  test('lets the user of the settings sign in over https with few attempts, and ends live streams at shutdown', async () => {
    const admin = { email: 'admin@example.com', password: 'the first password' };
    const publicUrl = 'https://tocsin.example.com';
    const service = start({
      BOOTSTRAP_ADMIN_EMAIL: admin.email,
      BOOTSTRAP_ADMIN_PASSWORD: admin.password,
      PUBLIC_URL: `${publicUrl}/`,
    });
    const port = await portOf(service);
    const http = supertest(`http://127.0.0.1:${port}`);
    const signIn = (body: object): supertest.Test =>
      http
        .post('/api/auth/sign-in/email')
        .set({ Origin: publicUrl, 'X-Tocsin-Client-Ip': '203.0.113.1' })
        .send(body);
    const { status, headers } = await signIn(admin);
    const [cookieLine = '', device] = (headers['set-cookie'] ?? []) as unknown as string[];
    expect([status, cookieLine]).toEqual([
      200,
      expect.stringMatching(/^__Secure-tocsin\.session_token=.*; HttpOnly; Secure; SameSite=Lax$/),
    ]);
    expect(device).toMatch(/^__Secure-tocsin\.known_device=.*; HttpOnly; Secure; SameSite=Strict$/);
    const cookie = cookieLine.split(';', 1)[0] ?? '';
    const create = (origin: string) =>
      http
        .post('/api/dashboard/monitors')
        .set({ Cookie: cookie, Origin: origin })
        .send({ name: 'a', url: 'https://a.example' });
    // Only PUBLIC_URL is trusted, because any other server on a laptop is another site.
    for (const origin of ['http://localhost', `http://localhost:${port}`])
      expect((await create(origin)).status).toBe(403);
    expect((await create(publicUrl)).status).toBe(201);
    expect((await http.get('/api/dashboard/me').set('Cookie', cookie)).body).toMatchObject({
      user: { email: admin.email, role: 'owner' },
    });
    // The count starts again after a few seconds without an attempt, so the number of attempts is not fixed.
    await until('an attempt exceeds the limit', async () => {
      const { status } = await signIn({ ...admin, password: 'wrong password' });
      expect([401, 429]).toContain(status);
      return status === 429;
    });
    const stream = await fetch(`http://127.0.0.1:${port}/api/dashboard/stream`, {
      headers: { Cookie: cookie },
    });
    expect(stream.status).toBe(200);
    service.child.kill('SIGTERM');
    // Reading a stream fails if it was cut instead of ended.
    expect(await stream.text()).toMatch(/^retry: 2000\nid: \S+\n\n/);
    const { code, out } = await service.end;
    expect(code).toBe(0);
    expect(out).not.toContain(admin.password);
  });
});
