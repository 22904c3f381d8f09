import { request } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { type Event, eventSchema } from '@tocsin/contracts/monitors/events';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { until } from '@tocsin/embedded/testing/until';
import type { JobWorker } from '@tocsin/queue/job-worker';
import { startFakeChecker } from '../testing/fake-checker.ts';
import { MONITORS, newMonitor } from '../testing/monitors.ts';
import { signIn } from '../testing/sign-in.ts';
import { stopClock, type StoppedClock } from '../testing/stopped-clock.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';
import { openTestQueue, type TestQueue } from '../testing/test-queue.ts';

let api: TestApi;
let queue: TestQueue;
const workers: JobWorker[] = [];
const shutdown = new AbortController();
/** Ends the checks of the region `slow`. */
const slow = { started: false, finish: (): void => undefined };

beforeAll(async () => {
  queue = await openTestQueue();
  const { producers } = queue;
  api = await openTestApi({
    shutdown: shutdown.signal,
    producers: {
      addTrigger: async (region, trigger) => {
        if (region === 'dark') throw new Error('no queue');
        // A region with a checker gets an hour to start the trigger, so that it is never too late on a slow machine.
        if (region !== 'nowhere') await setNotAfter(trigger.triggerId, '1 hour');
        await producers.addTrigger(region, trigger);
      },
      addStatusChanges: (ids) => producers.addStatusChanges(ids),
      addDeliveries: (ids) => producers.addDeliveries(ids),
    },
  });
  workers.push(
    startFakeChecker(queue.stores, api.context, 'default'),
    startFakeChecker(queue.stores, api.context, 'broken', () => ({
      status: 'DOWN',
      statusCode: null,
      errorReason: 'CONNECTION_REFUSED',
      errorDetail: 'connection refused',
      latencyMs: 0,
    })),
    startFakeChecker(queue.stores, api.context, 'slow', async () => {
      await new Promise<void>((resolve) => Object.assign(slow, { started: true, finish: resolve }));
      return {};
    }),
  );
});
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
});
afterEach(() => clock.restore());

/** Sets how long from now a trigger may still be started. */
async function setNotAfter(triggerId: string, interval: string): Promise<void> {
  await api.database.pool.query('update triggers set not_after = now() + $2::interval where id = $1', [
    triggerId,
    interval,
  ]);
}

/** How often a waiting request has polled for its event since then. */
function countPolls(): { polls: () => number; restore: () => void } {
  const asked = jest.spyOn(api.database.pool, 'query');
  return {
    polls: () =>
      asked.mock.calls.filter((call) => JSON.stringify(call[0]).includes('"event_timestamp')).length,
    restore: () => asked.mockRestore(),
  };
}

const trigger = (id: string): string => `${MONITORS}/${id}/trigger`;

async function eventsOf(id: string): Promise<Event[]> {
  return ((await api.as().get(`${MONITORS}/${id}/events`)).body as { events: Event[] }).events;
}

describe('trigger', () => {
  test('returns the event, which is stored like any other and ends PENDING', async () => {
    const { id } = await newMonitor(api);
    const response = await api.as().post(trigger(id));
    expect(response.status).toBe(200);
    expect(Object.keys(response.body as object)).toEqual(['event']);
    const { event } = response.body as { event: Event };
    expect(eventSchema.parse(event)).toMatchObject({
      monitorId: id,
      source: 'trigger',
      status: 'UP',
      url: null,
    });
    expect(await eventsOf(id)).toEqual([event]);
    expect((await api.as().get(`${MONITORS}/${id}`)).body).toMatchObject({
      monitor: { status: 'UP', lastCheckedAt: event.timestamp },
    });
  });

  test('any valid key may trigger; {} and {"url": null} are no override', async () => {
    const { id } = await newMonitor(api);
    for (const body of [undefined, {}, { url: null }]) {
      const request = api.as(api.account.readKey).post(trigger(id));
      const response = await (body === undefined ? request : request.send(body));
      expect([response.status, (response.body as { event: Event }).event.url]).toEqual([200, null]);
    }
  });

  test('a failed check is a result: 200', async () => {
    const { id } = await newMonitor(api, { regions: ['broken', 'default'] });
    const response = await api.as().post(trigger(id));
    expect(response.status).toBe(200);
    expect(response.body).toMatchObject({
      event: { status: 'DOWN', errorReason: 'CONNECTION_REFUSED', latency: 0, region: 'broken' },
    });
  });

  test('with a URL override: the event has the URL, the status does not change', async () => {
    const { id } = await newMonitor(api);
    const url = 'https://preview-42.shop.example/health';
    const response = await api.as().post(trigger(id)).send({ url });
    expect(response.body).toMatchObject({ event: { url } });
    expect((await api.as().get(`${MONITORS}/${id}`)).body).toMatchObject({
      monitor: { status: 'PENDING', lastCheckedAt: null },
      events: [{ url }],
    });
  });

  test('a URL override without the scope write: 403, before any other error', async () => {
    const { id } = await newMonitor(api);
    const unknown = '0190b5f0-0000-7000-8000-000000000000';
    for (const [each, body] of [
      [id, { url: 'https://a.example' }],
      [id, { url: 5 }],
      [unknown, { url: 'https://a.example', color: 1 }],
    ] as const) {
      const response = await api.as(api.account.readKey).post(trigger(each)).send(body);
      expect(response.status).toBe(403);
    }
    expect(await eventsOf(id)).toEqual([]);
  });

  test.each([
    [{ url: '' }, 'url', /full URL/],
    [{ url: 'preview.example' }, 'url', /full URL/],
    [{ url: 'ftp://a.example' }, 'url', /http or https/],
    [{ url: 5 }, 'url', /must be a string/],
    [{ url: 'https://a.example/\0' }, 'url', /NUL/],
    [{ url: 'https://user:pw@a.example' }, 'url', /user name/],
    [{ color: 1 }, 'color', /is not a known field; known fields: url/],
    [{ URL: 'https://a.example' }, 'URL', /did you mean `url`/],
  ])('%j: 400', async (body, path, rule) => {
    const { id } = await newMonitor(api);
    const response = await api.as().post(trigger(id)).send(body);
    expect(response.status).toBe(400);
    expect(response.body).toMatchObject({ errors: [{ path, message: expect.stringMatching(rule) }] });
    const unknown = await api.as().post(trigger('0190b5f0-0000-7000-8000-000000000000')).send(body);
    expect(unknown.status).toBe(404);
  });

  test('a monitor of another type: 422, after field errors', async () => {
    const { id } = await newMonitor(api);
    await api.database.pool.query(`update monitors set type = 'TCP' where id = $1`, [id]);
    const response = await api.as().post(trigger(id));
    expect(response.status).toBe(422);
    expect(response.body).toMatchObject({ type: 'urn:tocsin:problem:not-triggerable' });
    expect((await api.as().post(trigger(id)).send({ url: 'x' })).status).toBe(400);
  });

  test('no checker in the region: 504 after timeout + 5 s, and nothing starts later', async () => {
    const { id } = await newMonitor(api, { regions: ['nowhere'], timeout: 1 });
    const { polls, restore } = countPolls();
    let allResponded = false;
    const pending = api
      .as()
      .post(trigger(id))
      .then((response) => {
        allResponded = true;
        return response;
      });
    await until('the request waits', () => polls() > 1);
    clock.advance(5_999);
    const before = polls();
    await until('the request keeps waiting', () => polls() > before + 2);
    expect(allResponded).toBe(false);
    clock.advance(1);
    const response = await pending;
    restore();
    expect(response.status).toBe(504);
    expect(response.body).toMatchObject({
      type: 'urn:tocsin:problem:check-not-answered',
      detail: 'No checker of region nowhere returned a result within 6 seconds.',
    });
    // This limit is by the clock of Postgres, which is not stopped: a trigger that has not started by then never starts.
    const { rows } = await api.database.pool.query<{ id: string; ended: boolean }>(
      `select id, not_after <= created_at + interval '5001 milliseconds' as ended from triggers where monitor_id = $1`,
      [id],
    );
    expect(rows.map(({ ended }) => ended)).toEqual([true]);
    await setNotAfter(rows[0]?.id ?? '', '0');
    const late = startFakeChecker(queue.stores, api.context, 'nowhere');
    await until('the checker has the job', async () => {
      return (await queue.producers.queue('trigger', 'nowhere').count()) === 0;
    });
    await late.close();
    expect(await eventsOf(id)).toEqual([]);
  });

  test('an API key runs 25 checks at the same time and gets 429 with Retry-After beyond that; other keys do not', async () => {
    const { id } = await newMonitor(api, { regions: ['void'], timeout: 60 });
    const waiting = Array.from({ length: 25 }, () => api.as().post(trigger(id)).then());
    await until('25 triggers wait for a checker', async () => {
      return (await queue.producers.queue('trigger', 'void').count()) >= 25;
    });
    const refused = await api.as().post(trigger(id));
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '5']);
    expect(refused.body).toMatchObject({
      type: 'urn:tocsin:problem:rate-limited',
      detail: 'This API key runs 25 triggered checks already. Try again when one of them has ended.',
    });
    const other = await newMonitor(api);
    expect((await api.as(api.account.readKey).post(trigger(other.id))).status).toBe(200);
    clock.advance(65_000);
    expect(new Set((await Promise.all(waiting)).map(({ status }) => status))).toEqual(new Set([504]));
    expect((await api.as().post(trigger(other.id))).status).toBe(200);
  });

  test('keys and sessions count against the same limits', async () => {
    const acquire = jest.spyOn(api.context.triggerLimits, 'acquire');
    const { id } = await newMonitor(api);
    const owner = await signIn(api);
    expect((await api.as().post(trigger(id))).status).toBe(200);
    expect((await owner.post(`/api/dashboard/monitors/${id}/trigger`)).status).toBe(200);
    expect(
      acquire.mock.calls.map(([caller]) => [caller.apiKeyId === null, caller.sessionId === null]),
    ).toEqual([
      [false, true],
      [true, false],
    ]);
    acquire.mockRestore();
  });

  test('the queue is unavailable: 503 with Retry-After, and other routes continue to work', async () => {
    const { id } = await newMonitor(api, { regions: ['dark'] });
    const response = await api.as().post(trigger(id));
    expect([response.status, response.headers['retry-after']]).toEqual([503, '5']);
    expect(response.body).toMatchObject({ type: 'urn:tocsin:problem:unavailable' });
    expect(response.text).not.toContain('no queue');
    expect((await api.as().get(`${MONITORS}/${id}`)).status).toBe(200);
  });

  test('the monitor is deleted while its check runs: 404', async () => {
    const { id } = await newMonitor(api, { regions: ['slow'] });
    slow.started = false;
    const pending = api.as().post(trigger(id)).then();
    await until('the check has begun', () => slow.started);
    await deleteMonitor(api.context.db, systemActor(api.account.id), id);
    expect((await pending).status).toBe(404);
    slow.finish();
  });

  test('stops waiting when the client has disconnected', async () => {
    const { id } = await newMonitor(api, { regions: ['void'], timeout: 60 });
    const outgoing = request({
      port: api.port,
      host: '127.0.0.1',
      method: 'POST',
      path: trigger(id),
      headers: { Authorization: `Bearer ${api.account.key}` },
    });
    const { polls, restore } = countPolls();
    outgoing.on('error', () => undefined).end();
    await until('the request waits', () => polls() > 2);
    outgoing.destroy();
    // The clock is stopped, so only the disconnect of the client ends the polling.
    let [seen, since] = [0, Date.now()];
    await until('half a second without a poll', () => {
      if (polls() !== seen) [seen, since] = [polls(), Date.now()];
      return Date.now() - since > 500;
    });
    restore();
  });

  test('the service stops: 503 at once', async () => {
    const { id } = await newMonitor(api, { regions: ['void'], timeout: 60 });
    const pending = api.as().post(trigger(id)).then();
    await until('the trigger waits for a checker', async () => {
      return (await queue.producers.queue('trigger', 'void').count()) > 0;
    });
    shutdown.abort();
    const response = await pending;
    expect([response.status, response.headers['retry-after']]).toEqual([503, '5']);
  });
});
