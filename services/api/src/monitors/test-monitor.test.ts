import { request } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type CheckTest, checkTestSchema } from '@tocsin/contracts/monitors/check-test';
import { until } from '@tocsin/embedded/testing/until';
import type { JobWorker } from '@tocsin/queue/job-worker';
import type TestAgent from 'supertest/lib/agent.js';
import { startFakeChecker } from '../testing/fake-checker.ts';
import { newSignedInUser } from '../testing/sign-in.ts';
import { stopClock, type StoppedClock } from '../testing/stopped-clock.ts';
import { openTestApi, ORIGIN, type TestApi } from '../testing/test-api.ts';
import { openTestQueue, type TestQueue } from '../testing/test-queue.ts';

const PATH = '/api/dashboard/monitors/test';
const SETTINGS = { name: 'Shop', url: 'https://shop.example/health' };
let api: TestApi;
let queue: TestQueue;
let member: TestAgent;
let cookie: string;
const workers: JobWorker[] = [];
/** The ids that were queued, by region. */
let queued: [region: string, id: string][] = [];
/** Ends the checks of the region `slow`. */
const slow = { started: false, finish: (): void => undefined };

beforeAll(async () => {
  queue = await openTestQueue();
  const { producers } = queue;
  api = await openTestApi({
    producers: {
      addTrigger: async (region, trigger) => {
        if (region === 'dark') throw new Error('no queue');
        queued.push([region, trigger.triggerId]);
        // An hour to start, so that it is never too late on a slow machine.
        await api.database.pool.query(`update test_checks set not_after = now() + interval '1 hour'`);
        await producers.addTrigger(region, trigger);
      },
      addStatusChanges: () => Promise.resolve(),
      addDeliveries: () => Promise.resolve(),
    },
  });
  ({ agent: member, cookie } = await newSignedInUser(api, { role: 'member' }));
  workers.push(
    startFakeChecker(queue.stores, api.context, 'default'),
    startFakeChecker(queue.stores, api.context, 'broken', () => ({
      status: 'DOWN',
      statusCode: 200,
      errorReason: 'UNKNOWN_ERROR',
      errorDetail: 'the body does not contain the expected text',
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
  queued = [];
});
afterEach(() => clock.restore());

async function rowsOf(table: string): Promise<number> {
  return (await api.database.pool.query(`select from ${table}`)).rowCount ?? 0;
}

describe('a test of settings that are not saved', () => {
  test('returns the result, and leaves nothing behind', async () => {
    const headers = { Authorization: 'Bearer s3cret' };
    const body = { ...SETTINGS, method: 'POST', headers, body: 'ping', externalId: 'shop' };
    const response = await member.post(PATH).send(body);
    expect(response.status).toBe(200);
    const { test: result } = response.body as { test: CheckTest };
    expect(checkTestSchema.parse(result)).toMatchObject({ status: 'UP', region: 'default', statusCode: 200 });
    // The fake checker responds with what it was to send.
    expect(JSON.parse(result.response?.body ?? '')).toEqual({
      url: SETTINGS.url,
      method: 'POST',
      headers,
      body: 'ping',
      assertions: null,
      timeout: 10,
    });
    for (const table of ['test_checks', 'monitors', 'events', 'triggers', 'idempotency_keys'])
      expect([table, await rowsOf(table)]).toEqual([table, 0]);
  });

  test('runs in the chosen region, the first of the monitor, or the default one', async () => {
    const regions = ['broken', 'default'];
    const failed = await member.post(PATH).send({ ...SETTINGS, regions });
    expect(failed.body).toMatchObject({
      test: { status: 'DOWN', region: 'broken', errorDetail: 'the body does not contain the expected text' },
    });
    await member.post(`${PATH}?region=default`).send({ ...SETTINGS, regions });
    await member.post(PATH).send(SETTINGS);
    expect(queued.map(([region]) => region)).toEqual(['broken', 'default', 'default']);
  });

  test('is validated as on creation, and queues nothing then', async () => {
    for (const [query, fields, path] of [
      ['', { url: 'ftp://shop.example' }, 'url'],
      ['', { name: ' ' }, 'name'],
      ['', { method: 'HEAD', assertions: { bodyContains: 'ok' } }, 'assertions.bodyContains'],
      ['?region=No', {}, 'region'],
    ] as const) {
      const response = await member.post(`${PATH}${query}`).send({ ...SETTINGS, ...fields });
      expect([response.status, response.body]).toEqual([
        400,
        expect.objectContaining({ errors: [expect.objectContaining({ path })] }),
      ]);
    }
    expect(queued).toEqual([]);
  });

  test('keeps no secret in clear while it waits', async () => {
    const secret = 's3cret-while-waiting';
    const waiting = member
      .post(`${PATH}?region=slow`)
      .send({ ...SETTINGS, method: 'POST', headers: { A: secret }, body: secret })
      .then();
    await until('the test is queued', () => queued.length === 1);
    const { rows } = await api.database.pool.query<{ row: string }>(
      'select t::text as row from test_checks t',
    );
    expect(rows).toHaveLength(1);
    expect(rows[0]?.row).not.toContain(secret);
    await until('the checker has started it', () => slow.started);
    slow.finish();
    expect((await waiting).status).toBe(200);
  });

  test('without a checker in time: 504, and none starts it later', async () => {
    let isOver = false;
    const response = member
      .post(`${PATH}?region=nowhere`)
      .send(SETTINGS)
      .then((received) => {
        isOver = true;
        return received;
      });
    await until('the test is queued', () => queued.length === 1);
    await until('the deadline has passed', () => {
      clock.advance(16_000);
      return isOver;
    });
    const { status, body } = await response;
    expect([status, body]).toEqual([
      504,
      expect.objectContaining({
        detail: 'No checker of region nowhere returned a result within 15 seconds.',
      }),
    ]);
    expect(await rowsOf('test_checks')).toBe(0);
  });

  test('without a queue: 503', async () => {
    expect((await member.post(`${PATH}?region=dark`).send(SETTINGS)).status).toBe(503);
  });

  test('counts as a triggered check, also after its client has disconnected', async () => {
    const abandon = async (): Promise<void> => {
      const before = queued.length;
      const client = request({
        port: api.port,
        host: '127.0.0.1',
        method: 'POST',
        path: `${PATH}?region=nowhere`,
        headers: { Cookie: cookie, Origin: ORIGIN, 'Content-Type': 'application/json' },
      });
      client.on('error', () => undefined);
      client.end(JSON.stringify(SETTINGS));
      await until('the test is queued', () => queued.length > before);
      client.destroy();
    };
    for (let count = 0; count < 25; count += 1) await abandon();
    const response = await member.post(`${PATH}?region=nowhere`).send(SETTINGS);
    expect([response.status, response.headers['retry-after']]).toEqual([429, '5']);
    clock.advance(16_000);
    expect((await member.post(PATH).send(SETTINGS)).status).toBe(200);
  });

  test('needs a session, from this site', async () => {
    expect((await api.as().post(PATH).send(SETTINGS)).status).toBe(401);
    expect((await member.post(PATH).set('Origin', 'https://evil.example').send(SETTINGS)).status).toBe(403);
  });
});
