import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type WebhookPayload, webhookPayloadSchema } from '@tocsin/contracts/deliveries/webhook';
import { deliveries } from '@tocsin/db/deliveries/table';
import { events } from '@tocsin/db/events/table';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { type Respond, WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';
import { until } from '@tocsin/embedded/testing/until';
import { type CheckEvent, expectedWebhooks, type ModelMonitor } from '@tocsin/lab/oracle/model';
import type { ServiceProcess } from '@tocsin/lab/service-process';
import { createSystem, type System } from '@tocsin/lab/system';
import { asc, eq, sql } from 'drizzle-orm';
import { firstArrivals, webhookIdOf } from './arrivals.ts';

const REGIONS = ['eu', 'us', 'ap'] as const;
/**
 * This is the longest timeout. Even on a busy machine, a check of a target that responds does not time out, and no region's result expires.
 */
const TIMEOUT = 60;

/** Responses of each channel's receiver to its first requests. All later ones get 200. */
const FIRST_RESPONSES: Record<string, Respond[]> = {
  '/ok': [],
  '/500': [status(500), status(500)],
  '/429': [status(429, { 'Retry-After': '2' })],
  '/hang': [() => undefined],
};
function status(code: number, headers: Record<string, string> = {}): Respond {
  return (_, response) => void response.writeHead(code, headers).end();
}

type Watched = ModelMonitor & { readonly id: string; readonly target: HttpTarget };

let system: System;
let receiver: WebhookReceiver;
let checkers: ServiceProcess[];
const targets: HttpTarget[] = [];

beforeAll(async () => {
  const seen = new Map<string, number>();
  receiver = await WebhookReceiver.start((webhook, response) => {
    const count = seen.get(webhook.path) ?? 0;
    seen.set(webhook.path, count + 1);
    (FIRST_RESPONSES[webhook.path]?.[count] ?? status(200))(webhook, response);
  });
  system = await createSystem({ queue: 'redis', receiverCa: receiver.ca });
  checkers = ['eu', 'us,ap'].map((regions) => system.service('checker', { REGION: regions }));
  const notifiers = [system.service('notifier'), system.service('notifier')];
  await Promise.all([system.service('api'), ...notifiers, ...checkers].map((one) => one.start()));
});
afterAll(async () => {
  await system.close();
  await Promise.all([receiver, ...targets].map((one) => one.stop()));
});

async function watch(name: string, failureThreshold: number): Promise<Watched> {
  const target = await HttpTarget.start();
  targets.push(target);
  const fields = { name, url: target.url(), interval: 5, timeout: TIMEOUT, failureThreshold };
  const { id } = await system.createMonitor({ ...fields, regions: REGIONS });
  return { id, target, failureThreshold, regions: REGIONS, maintenance: [] };
}

/** Every check of a monitor, oldest first. */
async function eventsOf({ id }: Watched): Promise<CheckEvent[]> {
  const rows = await system.context.db
    .select()
    .from(events)
    .where(eq(events.monitorId, id))
    .orderBy(asc(events.timestamp));
  return rows.map(({ timestamp, latencyMs, ...row }) => ({
    ...row,
    timestamp: timestamp.toISOString(),
    latency: latencyMs,
  }));
}

/** Waits for one more check from each region with this result. */
async function isSeen(monitor: Watched, wanted: 'UP' | 'DOWN'): Promise<void> {
  const known = (await eventsOf(monitor)).length;
  await until(`${wanted} in each region`, async () => {
    const found = (await eventsOf(monitor)).slice(known).filter((event) => event.status === wanted);
    return REGIONS.every((region) => found.some((event) => event.region === region));
  });
}

/** True if every status change is dispatched and no delivery is pending. */
async function isSettled(): Promise<boolean> {
  const { rows } = await system.context.db.execute<{ open: number }>(sql`
    select (select count(*) from status_changes where dispatched_at is null)::int
      + (select count(*) from deliveries where state = 'pending')::int as open`);
  return rows[0]?.open === 0;
}

function payloadOf({ body }: { readonly body: string }): WebhookPayload {
  return webhookPayloadSchema.parse(JSON.parse(body));
}

test('during a simulated day, every receiver gets exactly the webhooks that follow from the recorded checks', async () => {
  const [flapping, patient] = await Promise.all([watch('flapping', 1), watch('patient', 3)]);
  const monitors = [flapping, patient];
  const ids = monitors.map(({ id }) => id);
  for (const path of Object.keys(FIRST_RESPONSES)) await system.createChannel(receiver.url(path), ids);
  for (const id of ids) await system.untilStatus(id, 'UP');

  flapping.target.status = 500;
  patient.target.status = 502;
  await isSeen(patient, 'DOWN');
  patient.target.status = 200;
  await system.untilStatus(flapping.id, 'DOWN');
  flapping.target.status = 200;
  await system.untilStatus(flapping.id, 'UP');
  patient.target.status = 404;
  flapping.target.status = 503;
  await system.untilStatus(patient.id, 'DOWN');
  await system.untilStatus(flapping.id, 'DOWN');
  for (const { target } of monitors) target.status = 200;
  for (const id of ids) await system.untilStatus(id, 'UP');
  for (const checker of checkers) expect(await checker.signal('SIGTERM')).toBe(0);
  await until('everything to be delivered', isSettled);

  const expected = new Map<string, object[]>();
  for (const monitor of monitors)
    expected.set(monitor.id, expectedWebhooks(monitor, await eventsOf(monitor)));
  const total = [...expected.values()].flat().length;
  expect(total).toBeGreaterThanOrEqual(12);
  const log = await system.context.db.select().from(deliveries);
  expect(log).toHaveLength(total * Object.keys(FIRST_RESPONSES).length);
  expect(log.filter(({ state }) => state !== 'delivered')).toEqual([]);

  for (const [path, failures] of Object.entries(FIRST_RESPONSES)) {
    const requests = receiver.received.filter((webhook) => webhook.path === path);
    const first = firstArrivals(requests);
    expect(requests.length).toBeGreaterThanOrEqual(total + failures.length);
    // A repeated webhook has the same body.
    expect(new Set(requests.map((one) => webhookIdOf(one) + one.body)).size).toBe(total);
    for (const id of ids) {
      const payloads = first.map(payloadOf).filter(({ monitorId }) => monitorId === id);
      const inOrder = payloads.toSorted((one, other) => one.timestamp.localeCompare(other.timestamp));
      expect(inOrder).toMatchObject(expected.get(id) ?? []);
    }
  }
});
