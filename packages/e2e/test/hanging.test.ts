import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createSystem, type System } from '@tocsin/e2e/system';
import { until } from '@tocsin/embedded/testing/until';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';

const HANGING = 30;
const MONITORS = 40;
/** `monitor.down` and `incident.created`. */
const ALERTS = 2 * MONITORS;

let target: HttpTarget;
let receiver: WebhookReceiver;
let system: System;
beforeAll(async () => {
  target = await HttpTarget.start();
  receiver = await WebhookReceiver.start((webhook, response) => {
    if (webhook.path === '/healthy') response.writeHead(204).end();
  });
  system = await createSystem({ queue: 'redis', receiverCa: receiver.ca });
  await system.startAll();
}, 60_000);
afterAll(async () => {
  await system.close();
  await Promise.all([target.stop(), receiver.stop()]);
});

test('a mass incident reaches a healthy receiver while many others hang, ahead of most of what those are due', async () => {
  const monitors = await Promise.all(
    Array.from({ length: MONITORS }, (_, index) =>
      system.createMonitor({
        name: `Shop ${index}`,
        url: target.url(),
        interval: 5,
        timeout: 2,
        failureThreshold: 1,
      }),
    ),
  );
  const ids = monitors.map(({ id }) => id);
  await until('every monitor to be UP', async () => {
    const { body } = await system.request('GET', '/api/cli/monitors');
    return (body as { monitors: { status: string }[] }).monitors.every(({ status }) => status === 'UP');
  });
  for (let index = 0; index < HANGING; index += 1) {
    await system.createChannel(receiver.url(`/hangs/${index}`), ids);
  }
  await system.createChannel(receiver.url('/healthy'), ids);

  target.status = 500;
  const healthy = (): Set<unknown> =>
    new Set(
      receiver.received.filter(({ path }) => path === '/healthy').map(({ headers }) => headers['webhook-id']),
    );
  await until('the healthy receiver to have all', () => healthy().size === ALERTS, 90_000);
  const tried = receiver.received.filter(({ path }) => path !== '/healthy').length;
  // In order of age they would have had nearly all of them first.
  expect(tried).toBeLessThan((HANGING * ALERTS) / 2);
}, 120_000);
