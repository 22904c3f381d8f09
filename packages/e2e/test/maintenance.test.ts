import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { webhookPayloadSchema, type WebhookPayload } from '@tocsin/contracts/webhook';
import { createMaintenanceWindow } from '@tocsin/db/maintenance-windows/create-maintenance-window';
import { createSystem, type System } from '@tocsin/e2e/system';
import { until } from '@tocsin/embedded/testing/until';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';

/** How far from its plan a window may begin and end. */
const EXACT_TO_MS = 2_000;

let target: HttpTarget;
let receiver: WebhookReceiver;
let system: System;
let healthPort: unknown;
beforeAll(async () => {
  [target, receiver] = await Promise.all([HttpTarget.start(), WebhookReceiver.start()]);
  system = await createSystem({ queue: 'redis', receiverCa: receiver.ca });
  await system.startAll();
  // A second notifier: its clock runs too, and nothing is sent twice.
  ({ healthPort } = await system.service('notifier').start());
}, 60_000);
afterAll(async () => {
  await system.close();
  await Promise.all([target.stop(), receiver.stop()]);
});

function payloads(): WebhookPayload[] {
  return receiver.received.map(({ body }) => webhookPayloadSchema.parse(JSON.parse(body)));
}

test('a window begins and ends on time; what broke during it is told after its end', async () => {
  const monitor = await system.createMonitor({
    name: 'Shop',
    url: target.url(),
    interval: 3_600,
    timeout: 2,
  });
  await system.createChannel(receiver.url(), [monitor.id]);
  const status = async (): Promise<string> => (await system.getMonitor(monitor.id)).monitor.status;
  await until('the first check', async () => (await status()) === 'UP');

  const startsAt = new Date(Date.now() + 1_000);
  const endsAt = new Date(startsAt.getTime() + 4_000);
  const { accountId, db } = system.context;
  await createMaintenanceWindow(db, accountId, {
    name: 'Upgrade',
    startsAt,
    endsAt,
    monitorIds: [monitor.id],
    rrule: null,
    timeZone: 'UTC',
  });
  await until('maintenance', async () => (await status()) === 'MAINTENANCE');
  await until('its webhook', () => receiver.received.length === 1);

  target.status = 500;
  const trigger = await system.request('POST', `/api/cli/monitors/${monitor.id}/trigger`);
  expect(trigger).toMatchObject({ status: 200, body: { event: { status: 'DOWN' } } });
  const metrics = await fetch(`http://127.0.0.1:${String(healthPort)}/metrics`);
  expect(await metrics.text()).toMatch(/^tocsin_maintenance_windows_running 1$/m);
  expect(Date.now()).toBeLessThan(endsAt.getTime());
  expect(await status()).toBe('MAINTENANCE');

  await until('the end', async () => (await status()) === 'DOWN');
  await until('two more webhooks', () => receiver.received.length >= 3);
  const same = {
    monitorId: monitor.id,
    monitorName: 'Shop',
    region: 'default',
    timestamp: expect.any(String),
    runbookUrl: null,
  };
  const down = {
    ...same,
    status: 'DOWN',
    previousStatus: 'MAINTENANCE',
    latency: expect.any(Number),
    errorReason: 'HTTP_500',
  };
  expect(payloads()).toEqual([
    {
      ...same,
      event: 'monitor.maintenance',
      status: 'MAINTENANCE',
      previousStatus: 'UP',
      latency: 0,
      errorReason: null,
    },
    { ...down, event: 'monitor.down' },
    { ...down, event: 'incident.created' },
  ]);
  const [began, ended] = receiver.received;
  for (const [webhook, planned] of [
    [began, startsAt],
    [ended, endsAt],
  ] as const) {
    const lateMs = (webhook?.at.getTime() ?? 0) - planned.getTime();
    expect(lateMs).toBeGreaterThanOrEqual(0);
    expect(lateMs).toBeLessThan(EXACT_TO_MS);
  }
}, 60_000);
