import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { type WebhookPayload, webhookPayloadSchema } from '@tocsin/contracts/deliveries/webhook';
import type { ListedMaintenanceWindow } from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';
import { until } from '@tocsin/embedded/testing/until';
import { createSystem, type System } from '@tocsin/lab/system';
import { firstArrivals } from './arrivals.ts';

let target: HttpTarget;
let receiver: WebhookReceiver;
let system: System;
let monitorId: string;

beforeAll(async () => {
  [target, receiver] = await Promise.all([HttpTarget.start(), WebhookReceiver.start()]);
  system = await createSystem({ queue: 'redis', receiverCa: receiver.ca });
  await system.startAll();
  const fields = { name: 'Shop', interval: 5, timeout: 60, labels: { app: 'shop' }, externalId: 'shop' };
  monitorId = (await system.createMonitor({ ...fields, url: target.url() })).id;
  await system.createChannel(receiver.url(), [monitorId]);
});
afterAll(async () => {
  await system.close();
  await Promise.all([target.stop(), receiver.stop()]);
});

const children: ChildProcess[] = [];
afterEach(() => {
  // The command of a killed CLI goes on.
  for (const { pid } of children.splice(0)) if (pid !== undefined) signalGroup(pid, 'SIGKILL');
});

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // All of its processes have ended.
  }
}

interface Run {
  readonly pid: number;
  readonly ended: Promise<unknown>;
  readonly code: () => number | null;
  readonly stdout: () => string;
  readonly stderr: () => string;
}

/** Starts `tocsin maintain` in a process group of its own, as a shell does. */
function maintain(...args: string[]): Run {
  const child = spawn(process.execPath, ['packages/cli/bin/tocsin.js', 'maintain', ...args], {
    env: {
      ...process.env,
      NODE_OPTIONS: '',
      TOCSIN_URL: `http://127.0.0.1:${system.apiPort()}`,
      TOCSIN_API_KEY: system.apiKey,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  child.stdin.end('input');
  children.push(child);
  const [stdout, stderr] = [[] as Buffer[], [] as Buffer[]];
  child.stdout.on('data', (bytes: Buffer) => stdout.push(bytes));
  child.stderr.on('data', (bytes: Buffer) => stderr.push(bytes));
  return {
    pid: child.pid ?? 0,
    ended: once(child, 'exit'),
    code: () => child.exitCode,
    stdout: () => String(Buffer.concat(stdout)),
    stderr: () => String(Buffer.concat(stderr)),
  };
}

/** Its command prints a word when it runs. */
async function untilRunning(run: Run): Promise<void> {
  await until('the command runs', () => {
    if (run.code() !== null) throw new Error(`exited with ${run.code()}: ${run.stderr()}`);
    return run.stdout().includes('running');
  });
}

/** The newest window of the account. */
async function newestWindow(): Promise<ListedMaintenanceWindow | undefined> {
  const { body } = await system.request('GET', '/api/cli/maintenance-windows?limit=1');
  return (body as { maintenanceWindows: ListedMaintenanceWindow[] }).maintenanceWindows[0];
}

async function untilResult(status: 'UP' | 'DOWN'): Promise<void> {
  const known = new Set((await system.getMonitor(monitorId)).events.map(({ id }) => id));
  await until(`one more check that is ${status}`, async () => {
    const { events } = await system.getMonitor(monitorId);
    return events.some((event) => event.status === status && !known.has(event.id));
  });
}

function payloads(): Partial<WebhookPayload>[] {
  return firstArrivals(receiver.received).map(({ body }) => {
    const { event, previousStatus } = webhookPayloadSchema.parse(JSON.parse(body));
    return { event, previousStatus };
  });
}

const LOOP = 'echo running; while :; do sleep 0.1; done';

test('an outage during the command alerts nobody; if it persists, it is announced when the command has ended', async () => {
  await system.untilStatus(monitorId, 'UP');
  const file = join(system.folder, 'deployed');
  const wait = `echo running; until [ -e '${file}' ]; do sleep 0.1; done; exit 3`;
  const run = maintain('-l', 'app=shop', '--for', '1d', '--', 'sh', '-c', wait);
  await untilRunning(run);
  await system.untilStatus(monitorId, 'MAINTENANCE');
  target.status = 500;
  await untilResult('DOWN');
  await until('the webhook about maintenance', () => payloads().length > 0);
  expect(payloads()).toEqual([{ event: 'monitor.maintenance', previousStatus: 'UP' }]);
  await writeFile(file, '');
  await run.ended;
  expect([run.code(), run.stdout()]).toEqual([3, 'running\n']);
  expect(run.stderr()).toMatch(/^Maintenance of 1 monitor until .*\nMaintenance ended\.\n$/);
  await system.untilStatus(monitorId, 'DOWN');
  await until('the alert', () => payloads().length >= 3);
  expect(payloads().slice(1)).toEqual([
    { event: 'monitor.down', previousStatus: 'MAINTENANCE' },
    { event: 'incident.created', previousStatus: 'MAINTENANCE' },
  ]);
  target.status = 200;
  await system.untilStatus(monitorId, 'UP');
});

test.each([
  ['Ctrl-C', LOOP, ({ pid }: Run) => signalGroup(pid, 'SIGINT'), 130],
  [
    'SIGTERM, which the command handles',
    `trap 'exit 7' TERM; ${LOOP}`,
    ({ pid }: Run) => process.kill(pid),
    7,
  ],
])('%s ends the command, and then the window', async (_, script, stop, code) => {
  const run = maintain('shop', '--for', '1d', '--', 'sh', '-c', script);
  await untilRunning(run);
  expect(await newestWindow()).toMatchObject({ state: 'running' });
  stop(run);
  await run.ended;
  expect([run.code(), run.stderr()]).toEqual([code, expect.stringContaining('Maintenance ended.')]);
  expect(await newestWindow()).toMatchObject({ state: 'ended' });
});

test.each([
  ['tocsin-no-such-command', 127],
  ['/', 126],
])('the command %s cannot be run: the exit code is %i, and the window is ended', async (command, code) => {
  const run = maintain('shop', '--for', '1d', '--', command);
  await run.ended;
  expect([run.code(), run.stderr()]).toEqual([code, expect.stringContaining(command)]);
  expect(await newestWindow()).toMatchObject({ state: 'ended' });
});

test('the command has the stdin of the CLI', async () => {
  const run = maintain('--all', '--for', '1d', '--', 'cat');
  await run.ended;
  await until('the output of the command', () => run.stdout() === 'input');
  expect(run.code()).toBe(0);
});

test('after kill -9, the window ends by itself', async () => {
  await system.untilStatus(monitorId, 'UP');
  const run = maintain('shop', '--for', '2s', '--name', 'Killed', '--', 'sh', '-c', LOOP);
  await untilRunning(run);
  process.kill(run.pid, 'SIGKILL');
  await run.ended;
  await until('the window has ended', async () => (await newestWindow())?.state === 'ended');
  const { name, startsAt = '', endsAt = '' } = (await newestWindow()) ?? {};
  expect([name, Date.parse(endsAt) - Date.parse(startsAt)]).toEqual(['Killed', 2_000]);
  await system.untilStatus(monitorId, 'UP');
});
