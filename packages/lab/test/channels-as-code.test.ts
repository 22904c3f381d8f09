import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type WebhookPayload, webhookPayloadSchema } from '@tocsin/contracts/deliveries/webhook';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { type ReceivedWebhook, WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';
import { until } from '@tocsin/embedded/testing/until';
import { createSystem, type System } from '@tocsin/lab/system';
import { Webhook } from 'standardwebhooks';
import { firstArrivals, untilLogged } from './arrivals.ts';

const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;

let shop: HttpTarget;
let blog: HttpTarget;
let receiver: WebhookReceiver;
let system: System;
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
  await Promise.all([shop.stop(), blog.stop(), receiver.stop()]);
});

/** Runs `tocsin apply` with the file of the system's folder. @returns stdout */
async function apply(): Promise<string> {
  const child = spawn(process.execPath, ['packages/cli/bin/tocsin.js', 'apply', '-f', fileName()], {
    env: {
      ...process.env,
      NODE_OPTIONS: '',
      TOCSIN_URL: `http://127.0.0.1:${system.apiPort()}`,
      TOCSIN_API_KEY: system.apiKey,
      SHOP_SECRET: SECRET,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const output: Buffer[] = [];
  child.stdout.on('data', (bytes: Buffer) => output.push(bytes));
  const [code] = (await once(child, 'close')) as [number];
  expect(code).toBe(0);
  return String(Buffer.concat(output));
}

const fileName = (): string => join(system.folder, 'tocsin.yaml');

const receivedAt = (path: string): ReceivedWebhook[] =>
  firstArrivals(receiver.received.filter((webhook) => webhook.path === path));

function alertsAt(path: string): Partial<WebhookPayload>[] {
  return receivedAt(path).map(({ body }) => {
    const { event, monitorName } = webhookPayloadSchema.parse(JSON.parse(body));
    return { event, monitorName };
  });
}

test('a file with two monitors and two channels alerts the right receiver, without the dashboard', async () => {
  await writeFile(
    fileName(),
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
  const output = await apply();
  const { body } = await system.request('GET', '/api/cli/monitors');
  const { monitors } = body as { monitors: Monitor[] };
  for (const { id } of monitors) await system.untilStatus(id, 'UP');
  const idOf = (key: string): string => monitors.find(({ externalId }) => externalId === key)?.id ?? '';

  shop.status = 500;
  await system.untilStatus(idOf('shop'), 'DOWN');
  await until('the shop team is told', () => alertsAt('/shop').length > 0);
  // A later alert of the other channel: what was due to it before has arrived by then.
  blog.status = 500;
  await until('the blog team is told', () => alertsAt('/blog').length >= 2);
  await untilLogged(system.context, receiver.received);
  expect(alertsAt('/shop')).toEqual([{ event: 'monitor.down', monitorName: 'Shop' }]);
  expect(alertsAt('/blog')).toEqual([
    { event: 'monitor.down', monitorName: 'Blog' },
    { event: 'incident.created', monitorName: 'Blog' },
  ]);

  const [, generated = ''] = / {2}channel blog: (whsec_\S+)/.exec(output) ?? [];
  expect(output).not.toContain(SECRET);
  const secrets = { '/shop': SECRET, '/blog': generated };
  for (const { path, body: payload, headers } of receiver.received) {
    const webhook = new Webhook(secrets[path as keyof typeof secrets]);
    expect(() => webhook.verify(payload, headers as Record<string, string>)).not.toThrow();
  }
});
