import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { webhookPayloadSchema } from '@tocsin/contracts/deliveries/webhook';
import type { ListedMaintenanceWindow } from '@tocsin/contracts/maintenance-windows/maintenance-window';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';
import { until } from '@tocsin/embedded/testing/until';
import { createSystem, type System } from '@tocsin/lab/system';
import { Webhook } from 'standardwebhooks';
import { firstArrivals, untilLogged } from './arrivals.ts';

const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
const LOOP = 'echo running; while :; do sleep 0.1; done';

let shop: HttpTarget;
let blog: HttpTarget;
let receiver: WebhookReceiver;
let system: System;
const idOf = new Map<string | null, string>();

beforeAll(async () => {
  [shop, blog, receiver] = await Promise.all([
    HttpTarget.start(),
    HttpTarget.start(),
    WebhookReceiver.start(),
  ]);
  system = await createSystem({ queue: 'redis', receiverCa: receiver.ca });
  await system.startAll();
});
afterAll(async () => {
  await system.close();
  await Promise.all([shop, blog, receiver].map((one) => one.stop()));
});

const children: ChildProcess[] = [];
afterEach(() => {
  for (const { pid } of children.splice(0)) if (pid !== undefined) signalGroup(pid, 'SIGKILL');
});

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // All processes in the group have ended.
  }
}

interface Run {
  readonly pid: number;
  readonly ended: Promise<unknown>;
  readonly code: () => number | null;
  readonly stdout: () => string;
  readonly stderr: () => string;
}

/** Starts `tocsin` in its own process group, as a shell does. */
function tocsin(...args: string[]): Run {
  const child = spawn(process.execPath, ['packages/cli/bin/tocsin.js', ...args], {
    env: {
      ...process.env,
      NODE_OPTIONS: '',
      TOCSIN_URL: `http://127.0.0.1:${system.apiPort()}`,
      TOCSIN_API_KEY: system.apiKey,
      SHOP_SECRET: SECRET,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  child.stdin.end('input');
  children.push(child);
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (bytes: Buffer) => (stdout += String(bytes)));
  child.stderr.on('data', (bytes: Buffer) => (stderr += String(bytes)));
  return {
    pid: child.pid ?? 0,
    ended: once(child, 'close'),
    code: () => child.exitCode,
    stdout: () => stdout,
    stderr: () => stderr,
  };
}

/** Waits until the command prints that it runs. */
async function untilRunning(run: Run): Promise<void> {
  await until('the command runs', () => {
    if (run.code() !== null) throw new Error(`exited with ${run.code()}: ${run.stderr()}`);
    return run.stdout().includes('running');
  });
}

async function newestWindow(): Promise<ListedMaintenanceWindow | undefined> {
  const { body } = await system.request('GET', '/api/cli/maintenance-windows?limit=1');
  return (body as { maintenanceWindows: ListedMaintenanceWindow[] }).maintenanceWindows[0];
}

/** Returns the alerts at a path, each with its event, monitor and previous status. */
function alertsAt(path: string): string[] {
  return firstArrivals(receiver.received.filter((webhook) => webhook.path === path)).map(({ body }) => {
    const { event, monitorName, previousStatus } = webhookPayloadSchema.parse(JSON.parse(body));
    return `${event} ${monitorName} ${previousStatus}`;
  });
}

async function statusIs(status: 'UP' | 'DOWN' | 'MAINTENANCE', ...keys: string[]): Promise<void> {
  for (const key of keys) await system.untilStatus(idOf.get(key) ?? '', status);
}

test('a file with two monitors and two channels alerts the right receiver, without the dashboard', async () => {
  const file = join(system.folder, 'tocsin.yaml');
  await writeFile(
    file,
    `source: story
defaults: { interval: 5, timeout: 60 }
monitors:
  - { externalId: shop, name: Shop, url: "${shop.url()}", labels: { app: shop } }
  - { externalId: blog, name: Blog, url: "${blog.url()}", labels: { app: blog } }
channels:
  - externalId: shop
    name: Shop team
    url: ${receiver.url('/shop')}
    selector: { matchLabels: { app: shop } }
    events: [monitor.down, monitor.up]
    secret: \${SHOP_SECRET}
  - externalId: blog
    name: Blog team
    url: ${receiver.url('/blog')}
    selector: { matchLabels: { app: blog } }
`,
  );
  const apply = tocsin('apply', '-f', file, '--yes');
  await apply.ended;
  expect([apply.code(), apply.stderr()]).toEqual([0, '']);
  const { body } = await system.request('GET', '/api/cli/monitors');
  for (const { externalId, id } of (body as { monitors: Monitor[] }).monitors) idOf.set(externalId, id);
  await statusIs('UP', 'shop', 'blog');

  shop.status = 500;
  await statusIs('DOWN', 'shop');
  await until('the shop team is told', () => alertsAt('/shop').length > 0);
  // When a later alert arrives at the other channel, earlier ones to it have arrived too.
  blog.status = 500;
  await until('the blog team is told', () => alertsAt('/blog').length >= 2);
  await untilLogged(system.context, receiver.received);
  expect(alertsAt('/shop')).toEqual(['monitor.down Shop UP']);
  expect(alertsAt('/blog')).toEqual(['monitor.down Blog UP', 'incident.created Blog UP']);

  const [, generated = ''] = / {2}channel blog: (whsec_\S+)/.exec(apply.stdout()) ?? [];
  expect(apply.stdout()).not.toContain(SECRET);
  const secrets = { '/shop': SECRET, '/blog': generated };
  for (const { path, body: payload, headers } of receiver.received) {
    const webhook = new Webhook(secrets[path as keyof typeof secrets]);
    expect(() => webhook.verify(payload, headers as Record<string, string>)).not.toThrow();
  }
  shop.status = 200;
  blog.status = 200;
  await statusIs('UP', 'shop', 'blog');
});

test('an outage during `maintain` sends no alert, and is announced when the command has ended if it persists', async () => {
  await until('the alerts of the recovery', () => alertsAt('/blog').length === 4);
  const file = join(system.folder, 'deployed');
  const wait = `echo running; until [ -e '${file}' ]; do sleep 0.1; done; cat; exit 3`;
  const run = tocsin('maintain', '-l', 'app=blog', '--for', '1d', '--', 'sh', '-c', wait);
  await untilRunning(run);
  await statusIs('MAINTENANCE', 'blog');
  blog.status = 500;
  const known = (await system.getMonitor(idOf.get('blog') ?? '')).events.length;
  await until('a check that fails', async () => {
    const { events } = await system.getMonitor(idOf.get('blog') ?? '');
    return events.length > known && events.at(0)?.status === 'DOWN';
  });
  await until('the webhook about maintenance', () => alertsAt('/blog').length > 4);
  expect(alertsAt('/blog').slice(4)).toEqual(['monitor.maintenance Blog UP']);
  await writeFile(file, '');
  await run.ended;
  // The command inherits stdin from the CLI.
  expect([run.code(), run.stdout()]).toEqual([3, 'running\ninput']);
  expect(run.stderr()).toMatch(/^Maintenance of 1 monitor until .*\nMaintenance ended\.\n$/);
  await until('the alerts', () => alertsAt('/blog').length >= 7);
  expect(alertsAt('/blog').slice(5)).toEqual([
    'monitor.down Blog MAINTENANCE',
    'incident.created Blog MAINTENANCE',
  ]);
});

test.each([
  ['Ctrl-C', LOOP, ({ pid }: Run) => signalGroup(pid, 'SIGINT'), 130],
  [
    'SIGTERM, which the command handles',
    `trap 'exit 7' TERM; ${LOOP}`,
    ({ pid }: Run) => process.kill(pid),
    7,
  ],
])('%s ends the command of `maintain`, and then the window', async (_, script, stop, code) => {
  const run = tocsin('maintain', 'shop', '--for', '1d', '--', 'sh', '-c', script);
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
  const run = tocsin('maintain', 'shop', '--for', '1d', '--', command);
  await run.ended;
  expect([run.code(), run.stderr()]).toEqual([code, expect.stringContaining(command)]);
  expect(await newestWindow()).toMatchObject({ state: 'ended' });
});
