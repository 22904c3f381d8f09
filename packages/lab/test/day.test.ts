import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type WebhookPayload, webhookPayloadSchema } from '@tocsin/contracts/deliveries/webhook';
import type { MaintenanceWindowState } from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { attempts, deliveries } from '@tocsin/db/deliveries/table';
import { events } from '@tocsin/db/events/table';
import { getMaintenanceWindow } from '@tocsin/db/maintenance-windows/read-windows';
import {
  createMaintenanceWindow,
  updateMaintenanceWindow,
} from '@tocsin/db/maintenance-windows/write-windows';
import { statusChanges } from '@tocsin/db/status-changes/table';
import { firstArrivals, NO_RESPONSE, webhookIdOf } from './arrivals.ts';
import { expectedWebhooks, type CheckEvent, type ModelMonitor } from '@tocsin/lab/oracle/model';
import type { ServiceProcess } from '@tocsin/lab/service-process';
import { createSystem, type System } from '@tocsin/lab/system';
import { until } from '@tocsin/embedded/testing/until';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { type Respond, WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';
import { asc, eq, sql } from 'drizzle-orm';

const INTERVAL = 5;
const REGIONS = ['eu', 'us', 'ap'] as const;
/** The longest timeout: even on a busy machine a check of a target that responds does not time out, and no region's result expires. */
const TIMEOUT = 60;
const FAR_MS = 3_600_000;

/** How each channel's receiver responds to its first requests; all later ones get 200. A drop after 200 is a response. */
const FIRST_RESPONSES: Record<string, Respond[]> = {
  '/ok': [],
  '/500': [status(500), status(500)],
  '/429': [status(429, { 'Retry-After': '2' })],
  '/301': [status(301, { Location: '/elsewhere' })],
  '/hang': [() => undefined],
  '/close': [(_, response) => void response.destroy()],
  '/drop': [
    (_, response) => {
      response.writeHead(200, { 'Content-Length': '100' });
      response.write('half', () => response.destroy());
    },
  ],
};
/** How many attempts fail because of the receiver: `responses` by its response, `silences` because it does not respond. */
const INJECTED_FAILURES: Record<string, { readonly responses: number; readonly silences: number }> = {
  '/ok': { responses: 0, silences: 0 },
  '/500': { responses: 2, silences: 0 },
  '/429': { responses: 1, silences: 0 },
  '/301': { responses: 1, silences: 0 },
  '/hang': { responses: 0, silences: 1 },
  '/close': { responses: 1, silences: 0 },
  '/drop': { responses: 0, silences: 0 },
};
function status(code: number, headers: Record<string, string> = {}): Respond {
  return (_, response) => void response.writeHead(code, headers).end();
}

interface Watched extends ModelMonitor {
  readonly id: string;
  readonly target: HttpTarget;
}

let system: System;
let receiver: WebhookReceiver;
let notifiers: ServiceProcess[];
let checkers: ServiceProcess[];
const targets: HttpTarget[] = [];

beforeAll(async () => {
  const seen = new Map<string, number>();
  receiver = await WebhookReceiver.start((webhook, response) => {
    const count = seen.get(webhook.path) ?? 0;
    seen.set(webhook.path, count + 1);
    if (webhook.path === '/410') status(410)(webhook, response);
    else (FIRST_RESPONSES[webhook.path]?.[count] ?? status(200))(webhook, response);
  });
  system = await createSystem({ queue: 'redis', receiverCa: receiver.ca });
  checkers = ['eu', 'us,ap'].map((regions) => system.service('checker', { REGION: regions }));
  notifiers = [system.service('notifier'), system.service('notifier')];
  await Promise.all([system.service('api'), ...notifiers, ...checkers].map((one) => one.start()));
});
afterAll(async () => {
  await system.close();
  await Promise.all([receiver, ...targets].map((one) => one.stop()));
});

async function watch(
  name: string,
  failureThreshold: number,
  regions: readonly string[],
  timeout = TIMEOUT,
): Promise<Watched> {
  const target = await HttpTarget.start();
  targets.push(target);
  const { id } = await system.createMonitor({
    name,
    url: target.url(),
    interval: INTERVAL,
    timeout,
    failureThreshold,
    regions,
    runbookUrl: `https://runbooks.example/${name}`,
  });
  return { id, target, failureThreshold, regions, maintenance: [] };
}

async function statusIs(monitor: Watched, wanted: 'UP' | 'DOWN' | 'MAINTENANCE'): Promise<void> {
  await system.untilStatus(monitor.id, wanted);
}

/** Every check of a monitor, oldest first. */
async function eventsOf(id: string): Promise<CheckEvent[]> {
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
  const known = (await eventsOf(monitor.id)).length;
  await until(`${wanted} in each region`, async () => {
    const found = (await eventsOf(monitor.id)).slice(known).filter((event) => event.status === wanted);
    return monitor.regions.every((region) => found.some((event) => event.region === region));
  });
}

/** Plans maintenance that starts now and lasts until `end` is called. */
async function plan(monitors: readonly Watched[]): Promise<{ id: string; startsAt: number }> {
  const startsAt = new Date(Date.now() + 500);
  const { id } = await createMaintenanceWindow(system.context.db, systemActor(system.context.accountId), {
    name: 'Planned work',
    startsAt,
    endsAt: new Date(startsAt.getTime() + FAR_MS),
    monitorIds: monitors.map((monitor) => monitor.id),
    rrule: null,
    timeZone: 'UTC',
  });
  return { id, startsAt: startsAt.getTime() };
}

/** Moves the end of a window to half a second from now. @returns the new end */
async function end({ id }: { readonly id: string }): Promise<number> {
  const endsAt = new Date(Date.now() + 500);
  await updateMaintenanceWindow(system.context.db, systemActor(system.context.accountId), id, { endsAt });
  return endsAt.getTime();
}

async function windowIs({ id }: { readonly id: string }, wanted: MaintenanceWindowState): Promise<void> {
  await until(`a window that is ${wanted}`, async () => {
    const { state } = await getMaintenanceWindow(system.context.db, system.context.accountId, id);
    return state === wanted;
  });
}

/** When a monitor entered and left maintenance. It must have done so exactly once. */
async function maintenanceOf(id: string): Promise<{ startsAt: number; endsAt: number }> {
  const changes = await system.context.db
    .select()
    .from(statusChanges)
    .where(eq(statusChanges.monitorId, id))
    .orderBy(asc(statusChanges.timestamp));
  const began = changes.filter(({ toStatus }) => toStatus === 'MAINTENANCE');
  const ended = changes.filter(({ fromStatus }) => fromStatus === 'MAINTENANCE');
  expect([began.length, ended.length]).toEqual([1, 1]);
  const [startsAt = NaN, endsAt = NaN] = [...began, ...ended].map(({ timestamp }) => timestamp.getTime());
  return { startsAt, endsAt };
}

interface LoggedDelivery {
  readonly id: string;
  readonly state: string;
  /** Oldest first. */
  readonly attempts: readonly { readonly statusCode: number | null; readonly error: string | null }[];
}

/** The deliveries to a channel, oldest event first. */
async function deliveriesTo(channelId: string): Promise<LoggedDelivery[]> {
  const { db } = system.context;
  const made = await db
    .select()
    .from(deliveries)
    .where(eq(deliveries.channelId, channelId))
    .orderBy(asc(deliveries.timestamp));
  const logged = await db.select().from(attempts).orderBy(asc(attempts.number));
  return made.map(({ id, state }) => ({
    id,
    state,
    attempts: logged.filter(({ deliveryId }) => deliveryId === id),
  }));
}

/** Whether every status change is dispatched and no delivery is pending. */
async function isSettled(): Promise<boolean> {
  const { rows } = await system.context.db.execute<{ open: number }>(sql`
    select (select count(*) from status_changes where dispatched_at is null)::int
      + (select count(*) from deliveries where state = 'pending')::int as open`);
  return rows[0]?.open === 0;
}

function payloadOf(body: string): WebhookPayload {
  return webhookPayloadSchema.parse(JSON.parse(body));
}

test('during a simulated day, every receiver gets exactly the webhooks that follow from the recorded checks', async () => {
  const flapping = await watch('flapping', 1, REGIONS);
  const patient = await watch('patient', 3, REGIONS);
  const serviced = await watch('serviced', 1, REGIONS);
  const mended = await watch('mended', 1, ['eu'], 2);
  const monitors = [flapping, patient, serviced, mended];
  const ids = monitors.map((monitor) => monitor.id);
  const channels = new Map<string, string>();
  for (const path of [...Object.keys(FIRST_RESPONSES), '/410']) {
    // The channel whose receiver responds with 410 has one monitor, so that its first attempts follow one another.
    const channel = await system.createChannel(receiver.url(path), path === '/410' ? [flapping.id] : ids);
    channels.set(path, channel.id);
  }
  for (const monitor of monitors) await statusIs(monitor, 'UP');

  flapping.target.status = 500;
  patient.target.status = 502;
  mended.target.hangs = true;
  await isSeen(patient, 'DOWN');
  patient.target.status = 200;
  await statusIs(flapping, 'DOWN');
  await statusIs(mended, 'DOWN');
  flapping.target.status = 200;
  await statusIs(flapping, 'UP');

  const servicing = await plan([serviced]);
  const mending = await plan([mended]);
  await statusIs(serviced, 'MAINTENANCE');
  await statusIs(mended, 'MAINTENANCE');
  const overlapping = await plan([serviced]);
  await windowIs(overlapping, 'running');
  for (const notifier of notifiers) {
    // A scrape leaves this out if the database does not respond in time.
    await until('three running windows in the metrics', async () =>
      /^tocsin_maintenance_windows_running 3$/m.test(await notifier.metrics()),
    );
  }
  serviced.target.status = 503;
  mended.target.hangs = false;
  patient.target.status = 404;
  flapping.target.status = 500;
  expect(await system.trigger(serviced.id)).toMatchObject({
    status: 200,
    body: { event: { status: 'DOWN', source: 'trigger' } },
  });
  await end(servicing);
  await windowIs(servicing, 'ended');
  await Promise.all([isSeen(serviced, 'DOWN'), isSeen(mended, 'UP')]);
  for (const monitor of [serviced, mended]) await statusIs(monitor, 'MAINTENANCE');
  await statusIs(flapping, 'DOWN');
  flapping.target.status = 200;
  const overlappingEndsAt = await end(overlapping);
  const mendingEndsAt = await end(mending);
  await statusIs(serviced, 'DOWN');
  await statusIs(mended, 'UP');
  await statusIs(patient, 'DOWN');
  for (const monitor of monitors) monitor.target.status = 200;
  for (const monitor of monitors) await statusIs(monitor, 'UP');
  // The status after maintenance is set by the first check after its end.
  await Promise.all(monitors.map((monitor) => isSeen(monitor, 'UP')));
  for (const checker of checkers) expect(await checker.signal('SIGTERM')).toBe(0);

  const maintenance = { serviced: await maintenanceOf(serviced.id), mended: await maintenanceOf(mended.id) };
  expect(maintenance.serviced.startsAt).toBeGreaterThanOrEqual(servicing.startsAt);
  expect(maintenance.serviced.endsAt).toBeGreaterThanOrEqual(overlappingEndsAt);
  expect(maintenance.mended.startsAt).toBeGreaterThanOrEqual(mending.startsAt);
  expect(maintenance.mended.endsAt).toBeGreaterThanOrEqual(mendingEndsAt);
  const watched = [
    flapping,
    patient,
    { ...serviced, maintenance: [maintenance.serviced] },
    { ...mended, maintenance: [maintenance.mended] },
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

  await until('everything to be delivered', isSettled);
  for (const [path, { responses, silences }] of Object.entries(INJECTED_FAILURES)) {
    const requests = receiver.received.filter((webhook) => webhook.path === path);
    const log = await deliveriesTo(channels.get(path) ?? '');
    expect(log.map(({ state }) => state)).toEqual(log.map(() => 'delivered'));
    expect(log).toHaveLength(total);

    // Each failed attempt is repeated once, and nothing else is. The request of an attempt without a response may not have arrived.
    const failed = log.flatMap((delivery) => delivery.attempts.filter(({ error }) => error !== null));
    const silent = failed.filter(({ error }) => NO_RESPONSE.test(error ?? ''));
    expect(silent.length).toBeGreaterThanOrEqual(silences);
    expect(failed.length).toBeGreaterThanOrEqual(responses + silences);
    expect(failed.length).toBeLessThanOrEqual(responses + silent.length);
    const lost = new Set<string>();
    for (const delivery of log) {
      const cameIn = requests.filter((webhook) => webhookIdOf(webhook) === delivery.id);
      const unanswered = delivery.attempts.filter(({ error }) => NO_RESPONSE.test(error ?? '')).length;
      expect(delivery.attempts.findIndex(({ error }) => error === null)).toBe(delivery.attempts.length - 1);
      expect(cameIn.length).toBeLessThanOrEqual(delivery.attempts.length);
      expect(cameIn.length).toBeGreaterThanOrEqual(delivery.attempts.length - unanswered);
      expect(new Set(cameIn.map(({ body }) => body)).size).toBe(1);
      if (cameIn.length < delivery.attempts.length) lost.add(delivery.id);
    }

    const first = firstArrivals(requests);
    expect(first).toHaveLength(total);
    for (const { id } of watched) {
      const got = first
        .map((webhook) => ({ lost: lost.has(webhookIdOf(webhook)), payload: payloadOf(webhook.body) }))
        .filter(({ payload }) => payload.monitorId === id);
      const inTime = got.filter((one) => !one.lost).map(({ payload }) => payload.timestamp);
      expect(inTime).toEqual([...new Set(inTime)].toSorted());
      const payloads = got.map(({ payload }) => payload);
      const inOrder = payloads.toSorted((one, other) => one.timestamp.localeCompare(other.timestamp));
      expect(inOrder).toMatchObject(expected.get(id) ?? []);
      expect(inOrder).toHaveLength(expected.get(id)?.length ?? -1);
    }
  }
  const entered = receiver.received
    .map(({ body }) => payloadOf(body))
    .find(({ event, monitorId }) => event === 'monitor.maintenance' && monitorId === serviced.id);
  expect(entered).toEqual({
    event: 'monitor.maintenance',
    monitorId: serviced.id,
    monitorName: 'serviced',
    status: 'MAINTENANCE',
    previousStatus: 'UP',
    latency: 0,
    errorReason: null,
    region: 'eu',
    timestamp: new Date(maintenance.serviced.startsAt).toISOString(),
    runbookUrl: 'https://runbooks.example/serviced',
  });

  // The receiver that responded with 410 gets no more requests. The other deliveries to it are held.
  const refused = await deliveriesTo(channels.get('/410') ?? '');
  const attempted = refused.flatMap((delivery) => delivery.attempts);
  const responded = attempted.filter(({ error }) => !NO_RESPONSE.test(error ?? ''));
  expect(responded.map(({ statusCode }) => statusCode)).toEqual([410]);
  // The oldest is refused, unless none of its attempts got a response on a busy machine.
  const oldest = refused.find(
    ({ attempts: made }) =>
      !made.some(({ error }) => NO_RESPONSE.test(error ?? '')) ||
      made.some(({ statusCode }) => statusCode === 410),
  );
  expect(refused.map(({ id, state }) => [id, state])).toEqual(
    refused.map(({ id }) => [id, id === oldest?.id ? 'failed' : 'held']),
  );
  expect(refused).toHaveLength(expected.get(flapping.id)?.length ?? -1);
  expect(receiver.received.filter((webhook) => webhook.path === '/410').length).toBeLessThanOrEqual(
    attempted.length,
  );
});
