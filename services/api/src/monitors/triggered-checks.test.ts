import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { afterAll, afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { TrialCheck } from '@tocsin/contracts/monitors/trial-check';
import type { Event } from '@tocsin/contracts/monitors/events';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { until } from '@tocsin/embedded/testing/until';
import type { JobWorker } from '@tocsin/queue/job-worker';
import type { Response } from 'supertest';
import { startFakeChecker } from '../testing/fake-checker.ts';
import { MONITORS, newMonitor } from '../testing/monitors.ts';
import { newSignedInUser } from '../testing/sign-in.ts';
import { stopClock, type StoppedClock } from '../testing/stopped-clock.ts';
import { openTestApi, ORIGIN } from '../testing/test-api.ts';
import { openTestQueue } from '../testing/test-queue.ts';
import { createTriggerShares } from './trigger.ts';

const TEST = '/api/dashboard/monitors/test';
const SETTINGS = { name: 'Shop', url: 'https://shop.example/health' };
/** Triggered checks in progress. */
const LIMIT = 3;
/** The result of every check in the region `broken`. No checker serves `nowhere` and `void`, and `dark` has no queue. */
const BROKEN = {
  status: 'DOWN',
  statusCode: null,
  errorReason: 'CONNECTION_REFUSED',
  errorDetail: 'connection refused',
  latencyMs: 0,
} as const;
/** Ends the checks of the region `slow`. */
const slow = { started: false, finish: (): void => undefined };

const workers: JobWorker[] = [];
const shutdown = new AbortController();
const triggered = createTriggerShares(shutdown.signal, LIMIT);
/** Regions of the queued checks. */
let queued: string[] = [];

const queue = await openTestQueue();
const { producers } = queue;
const api = await openTestApi({
  shutdown: shutdown.signal,
  triggered,
  producers: {
    addTrigger: async (region, trigger) => {
      if (region === 'dark') throw new Error('no queue');
      queued.push(region);
      // Checkers get an hour to start a check, so that they are never too late on a slow machine.
      if (region !== 'nowhere') await setNotAfter(trigger.triggerId, '1 hour');
      await producers.addTrigger(region, trigger);
    },
  },
});
const { agent: member, cookie } = await newSignedInUser(api, { role: 'member' });
workers.push(
  startFakeChecker(queue.store, api.context, 'default'),
  startFakeChecker(queue.store, api.context, 'broken', () => BROKEN),
  startFakeChecker(queue.store, api.context, 'slow', async () => {
    await new Promise<void>((resolve) => Object.assign(slow, { started: true, finish: resolve }));
    return {};
  }),
);
afterAll(async () => {
  slow.finish();
  await Promise.all(workers.map((worker) => worker.close()));
  await queue.close();
  await api.close();
});

/** The api's deadlines pass only when a test advances this clock. */
let clock: StoppedClock;
beforeEach(() => {
  clock = stopClock();
  queued = [];
  slow.started = false;
});
afterEach(() => clock.restore());

/** Sets how long from now a check may still be started. */
async function setNotAfter(id: string, interval: string): Promise<void> {
  for (const table of ['triggers', 'test_checks'])
    await api.database.pool.query(`update ${table} set not_after = now() + $2::interval where id = $1`, [
      id,
      interval,
    ]);
}

/** Counts the triggers that wait for a checker. */
const waitingIn = (region: string): Promise<number> => queue.producers.queue('trigger', region).count();

/** Lets the time pass until the response comes. */
async function timedOut(pending: Promise<Response>): Promise<Response> {
  let response: Response | undefined;
  void pending.then((received) => (response = received));
  return until('the deadline has passed', () => {
    clock.advance(16_000);
    return response;
  });
}

/** Tests settings in the region `nowhere`, and disconnects once `isSent`. */
async function abandonTest(isSent: () => boolean): Promise<void> {
  const headers = { Cookie: cookie, Origin: ORIGIN, 'Content-Type': 'application/json' };
  const path = `${TEST}?region=nowhere`;
  const client = request({ port: api.port, host: '127.0.0.1', method: 'POST', path, headers });
  client.on('error', () => undefined);
  client.end(JSON.stringify(SETTINGS));
  await until('the request has been handled', isSent);
  client.destroy();
}

describe('triggering a check', () => {
  const trigger = (id: string): string => `${MONITORS}/${id}/trigger`;
  const post = (id: string, body?: object, key?: string) => api.as(key).post(trigger(id)).send(body);

  async function eventsOf(id: string): Promise<Event[]> {
    return ((await api.as().get(`${MONITORS}/${id}/events`)).body as { events: Event[] }).events;
  }

  test('returns the event, which is stored like any other and ends PENDING', async () => {
    const { id } = await newMonitor(api);
    const response = await post(id);
    expect(response.status).toBe(200);
    const { event } = response.body as { event: Event };
    expect(event).toMatchObject({ monitorId: id, source: 'trigger', status: 'UP', url: null });
    expect(await eventsOf(id)).toEqual([event]);
    expect((await api.as().get(`${MONITORS}/${id}`)).body).toMatchObject({
      monitor: { status: 'UP', lastCheckedAt: event.timestamp },
    });
  });

  test('returns a failed check of the first region, and the URL that was given: 200', async () => {
    const { id } = await newMonitor(api, { regions: ['broken', 'default'] });
    const failed = { status: 'DOWN', errorReason: 'CONNECTION_REFUSED', region: 'broken' };
    const url = 'https://preview-42.shop.example/health';
    for (const [body, key, expected] of [
      [{}, api.account.readKey, { ...failed, url: null }],
      [{ url: null }, api.account.readKey, { ...failed, url: null }],
      [{ url }, api.account.key, { ...failed, url }],
    ] as const) {
      const response = await post(id, body, key);
      expect([response.status, response.body]).toMatchObject([200, { event: expected }]);
    }
  });

  test('with another URL but without the scope write: 403, before any other error', async () => {
    const { id } = await newMonitor(api);
    for (const [each, body] of [
      [id, { url: 'https://a.example' }],
      [id, { url: 5 }],
      [randomUUID(), { url: 'https://a.example', color: 1 }],
    ] as const)
      expect((await post(each, body, api.account.readKey)).status).toBe(403);
    expect(await eventsOf(id)).toEqual([]);
  });

  test.each([
    [{ url: 'https://user:pw@a.example' }, 'url'],
    [{ color: 1 }, 'color'],
  ])('with %j: 400, or 404 for an unknown monitor', async (body, path) => {
    const { id } = await newMonitor(api);
    const response = await post(id, body);
    expect([response.status, response.body]).toMatchObject([400, { errors: [{ path }] }]);
    expect((await post(randomUUID(), body)).status).toBe(404);
  });

  test('of a monitor of another type: 422, after field errors', async () => {
    const { id } = await newMonitor(api);
    await api.database.pool.query(`update monitors set type = 'TCP' where id = $1`, [id]);
    expect((await post(id)).status).toBe(422);
    expect((await post(id, { url: 'x' })).status).toBe(400);
  });

  test('without a checker in the region: 504 after timeout + 5 s, and nothing starts later', async () => {
    const { id } = await newMonitor(api, { regions: ['nowhere'], timeout: 1 });
    const response = await timedOut(post(id).then());
    const detail = 'No checker or agent of region nowhere returned a result within 6 seconds.';
    expect([response.status, response.body]).toMatchObject([504, { detail }]);
    // Postgres' clock decides this limit, and it is not stopped. A trigger that has not started by then never starts.
    const { rows } = await api.database.pool.query<{ id: string; ended: boolean }>(
      `select id, not_after <= created_at + interval '5001 milliseconds' as ended from triggers where monitor_id = $1`,
      [id],
    );
    expect(rows.map(({ ended }) => ended)).toEqual([true]);
    await setNotAfter(rows[0]?.id ?? '', '0');
    const late = startFakeChecker(queue.store, api.context, 'nowhere');
    await until('the checker has the job', async () => (await waitingIn('nowhere')) === 0);
    await late.close();
    expect(await eventsOf(id)).toEqual([]);
  });

  test('waits while all checks in progress are those of its account', async () => {
    const { id } = await newMonitor(api, { regions: ['void'], timeout: 60 });
    const waiting: Promise<Response>[] = [];
    while (waiting.length < LIMIT) waiting.push(post(id).then());
    await until('the triggers wait for a checker', async () => (await waitingIn('void')) >= LIMIT);
    const { id: other } = await newMonitor(api);
    const later = post(other).then();
    clock.advance(65_000);
    expect(new Set((await Promise.all(waiting)).map(({ status }) => status))).toEqual(new Set([504]));
    expect((await later).status).toBe(200);
  });

  test('takes the share of its account, and the oldest check of the account above its share ends: 503 with Retry-After', async () => {
    const { id } = await newMonitor(api, { regions: ['void'], timeout: 60 });
    const { id: others } = await newMonitor(api, {}, api.other.key);
    const waiting = Array.from({ length: LIMIT }, () => post(id).then());
    await until('the triggers wait for a checker', () => queued.length === LIMIT);
    clock.advance(1_000);
    expect((await post(others, undefined, api.other.key)).status).toBe(200);
    const refused = await Promise.race(waiting);
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '5']);
    clock.advance(65_000);
    const statuses = (await Promise.all(waiting)).map(({ status }) => status);
    expect(statuses.filter((status) => status !== 504)).toEqual([503]);
  });

  test('of a monitor that is deleted meanwhile: 404', async () => {
    const { id } = await newMonitor(api, { regions: ['slow'] });
    const pending = post(id).then();
    await until('the check has begun', () => slow.started);
    await deleteMonitor(api.context.db, systemActor(api.account.id), id);
    expect((await pending).status).toBe(404);
    slow.finish();
  });
});

describe('testing settings that are not saved', () => {
  const post = (fields: object = {}, region?: string) =>
    member.post(region === undefined ? TEST : `${TEST}?region=${region}`).send({ ...SETTINGS, ...fields });

  async function rowsOf(table: string): Promise<string[]> {
    const { rows } = await api.database.pool.query<{ row: string }>(`select t::text as row from ${table} t`);
    return rows.map(({ row }) => row);
  }

  test('returns the result, and leaves nothing behind', async () => {
    const tables = ['test_checks', 'monitors', 'events', 'triggers', 'idempotency_keys'];
    const before = await Promise.all(tables.map(rowsOf));
    const sent = { method: 'POST', headers: { Authorization: 'Bearer s3cret' }, body: 'ping' };
    const response = await post({ ...sent, externalId: 'shop' });
    expect(response.status).toBe(200);
    const { test: result } = response.body as { test: TrialCheck };
    expect(result).toMatchObject({ status: 'UP', region: 'default', statusCode: 200 });
    const connection = { followRedirects: true, ipFamily: null, connectTo: null, tls: null };
    // The fake checker responds with what it was to send.
    const { url } = SETTINGS;
    expect(JSON.parse(result.response?.body ?? '')).toEqual({
      ...connection,
      url,
      ...sent,
      assertions: null,
      timeout: 10,
    });
    expect(await Promise.all(tables.map(rowsOf))).toEqual(before);
  });

  test('runs in the chosen region, the first of the monitor, or the default one', async () => {
    const regions = ['broken', 'default'];
    const { body } = await post({ regions });
    const { status, errorDetail } = BROKEN;
    expect(body).toMatchObject({ test: { status, region: 'broken', errorDetail } });
    await post({ regions }, 'default');
    await post();
    expect(queued).toEqual(['broken', 'default', 'default']);
  });

  test('is validated as on creation, and queues nothing then: 400', async () => {
    for (const [fields, path, region] of [
      [{ url: 'ftp://shop.example' }, 'url'],
      [{ method: 'HEAD', assertions: { bodyContains: 'ok' } }, 'assertions.bodyContains'],
      [{}, 'region', 'No'],
    ] as const) {
      const response = await post(fields, region);
      expect([response.status, response.body]).toMatchObject([400, { errors: [{ path }] }]);
    }
    expect(queued).toEqual([]);
  });

  test('keeps no secret in clear while it waits', async () => {
    const secret = 's3cret-while-waiting';
    const waiting = post({ method: 'POST', headers: { A: secret }, body: secret }, 'slow').then();
    await until('the test is queued', () => queued.length === 1);
    const rows = await rowsOf('test_checks');
    expect(rows).toEqual([expect.not.stringContaining(secret)]);
    await until('the checker has started it', () => slow.started);
    slow.finish();
    expect((await waiting).status).toBe(200);
  });

  test('without a checker in time: 504, and none starts it later', async () => {
    expect((await timedOut(post({}, 'nowhere').then())).status).toBe(504);
    expect(queued).toEqual(['nowhere']);
    expect(await rowsOf('test_checks')).toEqual([]);
  });

  test('counts as a triggered check, also after its client has disconnected, for its maximum duration', async () => {
    const timers = jest.spyOn(globalThis, 'setTimeout');
    await abandonTest(() => queued.length === 1);
    await until(
      'the api knows that the client has disconnected',
      async () => (await rowsOf('test_checks')).length === 0,
    );
    expect(triggered.used).toBe(1);
    const [release] = timers.mock.calls.find(([, ms]) => ms === 15_000) ?? [];
    timers.mockRestore();
    release?.();
    expect(triggered.used).toBe(0);
  });
});

test('while the queue is unavailable: 503 with Retry-After, without the reason', async () => {
  const { id } = await newMonitor(api, { regions: ['dark'] });
  for (const response of [
    await api.as().post(`${MONITORS}/${id}/trigger`),
    await member.post(`${TEST}?region=dark`).send(SETTINGS),
  ]) {
    expect([response.status, response.headers['retry-after']]).toEqual([503, '5']);
    expect(response.text).toContain('urn:tocsin:problem:unavailable');
    expect(response.text).not.toContain('no queue');
  }
});

test('when the service stops, waiting requests end at once: 503', async () => {
  const { id } = await newMonitor(api, { regions: ['stopping'], timeout: 60 });
  const pending = api.as().post(`${MONITORS}/${id}/trigger`).then();
  await until('the trigger waits for a checker', async () => (await waitingIn('stopping')) > 0);
  shutdown.abort();
  const response = await pending;
  expect([response.status, response.headers['retry-after']]).toEqual([503, '5']);
});
