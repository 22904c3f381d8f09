import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Event } from '@tocsin/contracts/event';
import { webhookPayloadSchema, type WebhookPayload } from '@tocsin/contracts/webhook';
import { phaseMs } from '@tocsin/core/schedule/phase';
import { deliveries } from '@tocsin/db/deliveries/table';
import { createMaintenanceWindow } from '@tocsin/db/maintenance-windows/create-maintenance-window';
import { expectedWebhooks, type WatchedMonitor } from '@tocsin/e2e/oracle';
import { createSystem, type System } from '@tocsin/e2e/system';
import { until } from '@tocsin/embedded/testing/until';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { WebhookReceiver, type Answer } from '@tocsin/embedded/local-web/webhook-receiver';
import { asc, eq, sql } from 'drizzle-orm';

const INTERVAL_MS = 5_000;
const REGIONS = ['eu', 'us', 'ap'] as const;

/** How each channel's receiver treats its first requests; all later ones get 200. A drop after 200 is an answer. */
const FIRST_ANSWERS: Record<string, Answer[]> = {
  '/ok': [],
  '/500': [status(500), status(500)],
  '/429': [status(429, { 'Retry-After': '2' })],
  '/301': [status(301, { Location: '/elsewhere' })],
  '/hang': [(_, response) => void setTimeout(() => response.writeHead(200).end(), 6_000)],
  '/close': [(_, response) => void response.destroy()],
  '/drop': [
    (_, response) => {
      response.writeHead(200, { 'Content-Length': '100' });
      response.write('half', () => response.destroy());
    },
  ],
};
const INJECTED_FAILURES: Record<string, number> = {
  '/ok': 0,
  '/500': 2,
  '/429': 1,
  '/301': 1,
  '/hang': 1,
  '/close': 1,
  '/drop': 0,
};

function status(code: number, headers: Record<string, string> = {}): Answer {
  return (_, response) => void response.writeHead(code, headers).end();
}

interface Watched extends WatchedMonitor {
  readonly id: string;
  readonly target: HttpTarget;
}

let system: System;
let receiver: WebhookReceiver;
const targets: HttpTarget[] = [];

beforeAll(async () => {
  const seen = new Map<string, number>();
  receiver = await WebhookReceiver.start((webhook, response) => {
    const count = seen.get(webhook.path) ?? 0;
    seen.set(webhook.path, count + 1);
    if (webhook.path === '/410') status(410)(webhook, response);
    else (FIRST_ANSWERS[webhook.path]?.[count] ?? status(200))(webhook, response);
  });
  system = await createSystem({ queue: 'redis', receiverCa: receiver.ca });
  const checkers = REGIONS.map((region) => system.service('checker', { REGION: region }));
  await Promise.all(
    [system.service('api'), system.service('notifier'), system.service('notifier'), ...checkers].map((one) =>
      one.start(),
    ),
  );
}, 60_000);
afterAll(async () => {
  await system.close();
  await Promise.all([receiver, ...targets].map((one) => one.stop()));
});

async function watch(name: string, failureThreshold: number, regions: readonly string[]): Promise<Watched> {
  const target = await HttpTarget.start();
  targets.push(target);
  const { id } = await system.createMonitor({
    name,
    url: target.url(),
    interval: INTERVAL_MS / 1_000,
    timeout: 2,
    failureThreshold,
    regions,
    runbookUrl: `https://runbooks.example/${name}`,
  });
  return { id, target, failureThreshold, regions, maintenance: [] };
}

async function eventsOf(id: string): Promise<Event[]> {
  const { body } = await system.request('GET', `/api/cli/monitors/${id}/events?limit=500`);
  return (body as { events: Event[] }).events;
}

async function statusIs(monitor: Watched, wanted: string, withinMs = 40_000): Promise<void> {
  await until(
    `${wanted} of a monitor`,
    async () => (await system.getMonitor(monitor.id)).monitor.status === wanted,
    withinMs,
  );
}

/** So many more checks of each region, then the middle of the pause between two slots. */
async function pass(monitor: Watched, slots: number): Promise<void> {
  const counts = async (): Promise<number[]> => {
    const events = await eventsOf(monitor.id);
    return monitor.regions.map((region) => events.filter((event) => event.region === region).length);
  };
  const before = await counts();
  await until(
    `${slots} more slots`,
    async () => (await counts()).every((count, index) => count >= (before[index] ?? 0) + slots),
    (slots + 3) * INTERVAL_MS,
  );
}

/** The next moment in the middle between two checks of a monitor that is at least so far away. */
function quietMoment(id: string, atLeastMs: number): number {
  const quiet = phaseMs(id, INTERVAL_MS) + INTERVAL_MS / 2;
  const earliest = Date.now() + atLeastMs;
  return earliest + ((quiet - (earliest % INTERVAL_MS) + 2 * INTERVAL_MS) % INTERVAL_MS);
}

async function plan(startsAt: number, endsAt: number, monitors: readonly Watched[]): Promise<void> {
  await createMaintenanceWindow(system.context.db, system.context.accountId, {
    name: 'Planned work',
    startsAt: new Date(startsAt),
    endsAt: new Date(endsAt),
    monitorIds: monitors.map((monitor) => monitor.id),
    rrule: null,
    timeZone: 'UTC',
  });
}

async function deliveriesTo(channelId: string): Promise<{ state: string; attemptCount: number }[]> {
  return system.context.db
    .select({ state: deliveries.state, attemptCount: deliveries.attemptCount })
    .from(deliveries)
    .where(eq(deliveries.channelId, channelId))
    .orderBy(asc(deliveries.timestamp));
}

/** No status change is still to be dispatched, no delivery still to be attempted. */
async function isSettled(): Promise<boolean> {
  const { rows } = await system.context.db.execute<{ open: number }>(sql`
    select (select count(*) from status_changes where dispatched_at is null)::int
      + (select count(*) from deliveries where state = 'pending')::int as open`);
  return rows[0]?.open === 0;
}

function payloadOf(body: string): WebhookPayload {
  return webhookPayloadSchema.parse(JSON.parse(body));
}

test('a day: every receiver gets exactly what the targets’ behaviour implies', async () => {
  const flapping = await watch('flapping', 1, REGIONS);
  const patient = await watch('patient', 3, REGIONS);
  const serviced = await watch('serviced', 1, REGIONS);
  const mended = await watch('mended', 1, ['eu']);
  const monitors = [flapping, patient, serviced, mended];
  const ids = monitors.map((monitor) => monitor.id);
  const channels = new Map<string, string>();
  for (const path of [...Object.keys(FIRST_ANSWERS), '/410']) {
    // The one that wants no more is told of one monitor: its first attempts go one after the other.
    const channel = await system.createChannel(receiver.url(path), path === '/410' ? [flapping.id] : ids);
    channels.set(path, channel.id);
  }
  for (const monitor of monitors) await statusIs(monitor, 'UP');
  await pass(flapping, 1);

  flapping.target.status = 500;
  patient.target.status = 502;
  mended.target.hangs = true;
  await statusIs(flapping, 'DOWN');
  await statusIs(mended, 'DOWN');
  await pass(patient, 1);
  patient.target.status = 200;
  flapping.target.status = 200;
  await statusIs(flapping, 'UP');

  const startsAt = quietMoment(serviced.id, 2_000);
  const overlapAt = startsAt + 2 * INTERVAL_MS;
  const endsAt = startsAt + 5 * INTERVAL_MS;
  const mendedStartsAt = quietMoment(mended.id, 2_000);
  const mendedEndsAt = mendedStartsAt + 4 * INTERVAL_MS;
  await plan(startsAt, startsAt + 3 * INTERVAL_MS, [serviced]);
  await plan(overlapAt, endsAt, [serviced]);
  await plan(mendedStartsAt, mendedEndsAt, [mended]);
  await statusIs(serviced, 'MAINTENANCE');
  await statusIs(mended, 'MAINTENANCE');
  serviced.target.status = 503;
  mended.target.hangs = false;
  patient.target.status = 404;
  flapping.target.status = 500;
  await statusIs(flapping, 'DOWN');
  flapping.target.status = 200;
  await statusIs(patient, 'DOWN');
  await statusIs(serviced, 'DOWN', 60_000);
  await statusIs(mended, 'UP');
  await statusIs(flapping, 'UP');
  for (const monitor of monitors) monitor.target.status = 200;
  for (const monitor of monitors) await statusIs(monitor, 'UP');

  const watched = [
    flapping,
    patient,
    { ...serviced, maintenance: [{ startsAt, endsAt }] },
    { ...mended, maintenance: [{ startsAt: mendedStartsAt, endsAt: mendedEndsAt }] },
  ];
  const expected = new Map(
    await Promise.all(
      watched.map(
        async (monitor) => [monitor.id, expectedWebhooks(monitor, await eventsOf(monitor.id))] as const,
      ),
    ),
  );
  const total = [...expected.values()].flat().length;
  expect(total).toBeGreaterThanOrEqual(20);

  await until('everything to be delivered', isSettled, 90_000);
  for (const [path, failures] of Object.entries(INJECTED_FAILURES)) {
    const requests = receiver.received.filter((webhook) => webhook.path === path);
    const bodies = new Map<string, Set<string>>();
    for (const { headers, body } of requests) {
      const id = String(headers['webhook-id']);
      bodies.set(id, (bodies.get(id) ?? new Set()).add(body));
    }
    expect([...bodies.values()].every((attempts) => attempts.size === 1)).toBe(true);
    const first = [...bodies.values()].map((attempts) => payloadOf([...attempts][0] ?? ''));
    for (const { id } of watched) {
      const got = first.filter((payload) => payload.monitorId === id);
      expect(got).toMatchObject(expected.get(id) ?? []);
      expect(got).toHaveLength(expected.get(id)?.length ?? -1);
      const stamps = got.map((payload) => payload.timestamp);
      expect(stamps).toEqual([...new Set(stamps)].toSorted());
    }
    // Once more than every failure, and no other duplicate.
    expect([path, requests.length]).toEqual([path, total + failures]);
  }

  // Who answered 410 was asked once; the rest is kept.
  expect(receiver.received.filter((webhook) => webhook.path === '/410')).toHaveLength(1);
  const refused = await deliveriesTo(channels.get('/410') ?? '');
  expect(refused.map(({ state }) => state)).toEqual(['failed', ...refused.slice(1).map(() => 'held')]);
  expect(refused).toHaveLength(expected.get(flapping.id)?.length ?? -1);

  // Nothing more is to come: all is delivered, and every attempt that was recorded is one that came in.
  for (const [path, failures] of Object.entries(INJECTED_FAILURES)) {
    const log = await deliveriesTo(channels.get(path) ?? '');
    expect(new Set(log.map(({ state }) => state))).toEqual(new Set(['delivered']));
    expect(log.reduce((sum, { attemptCount }) => sum + attemptCount, 0)).toBe(total + failures);
  }
}, 240_000);
