import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type RecentChecks, recentChecksSchema } from '@tocsin/contracts/monitors/events';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import type TestAgent from 'supertest/lib/agent.js';
import { z } from 'zod';
import { checkOf, newMonitor } from '../testing/monitors.ts';
import { browser, signIn } from '../testing/sign-in.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

const PATH = '/api/dashboard/monitors/recent-checks';
const answerSchema = z.strictObject({ recentChecks: z.array(recentChecksSchema) });

let api: TestApi;
let member: TestAgent;
beforeAll(async () => {
  api = await openTestApi();
  member = await signIn(api, { role: 'member' });
});
afterAll(() => api.close());

async function ask(ids: readonly string[], agent: TestAgent = member): Promise<RecentChecks[]> {
  const response = await agent.get(PATH).query({ monitorIds: ids.join(',') });
  expect(response.status).toBe(200);
  return answerSchema.parse(response.body).recentChecks;
}

describe('GET /api/dashboard/monitors/recent-checks', () => {
  test('returns the latest 30 checks of each monitor, oldest first, in the order of the ids', async () => {
    const [busy, idle, quiet] = [await newMonitor(api), await newMonitor(api), await newMonitor(api)];
    for (let latencyMs = 1; latencyMs <= 32; latencyMs += 1) {
      await recordChecks(api.context.db, [checkOf(busy.id, { latencyMs })]);
    }
    await recordChecks(api.context.db, [checkOf(quiet.id, { status: 'DOWN', latencyMs: 0 })]);
    const [ofQuiet, ofBusy, ofIdle, ...rest] = await ask([quiet.id, busy.id.toUpperCase(), idle.id, busy.id]);
    expect(rest).toEqual([]);
    expect(ofQuiet).toMatchObject({
      monitorId: quiet.id,
      checks: [{ status: 'DOWN', latency: 0, region: 'default' }],
    });
    expect(ofIdle).toEqual({ monitorId: idle.id, checks: [] });
    expect(ofBusy?.checks.map(({ latency }) => latency)).toEqual(
      Array.from({ length: 30 }, (_, index) => index + 3),
    );
    const timestamps = ofBusy?.checks.map(({ timestamp }) => timestamp) ?? [];
    expect(timestamps).toEqual(timestamps.toSorted());
  });

  test('leaves out checks of another URL and those older than 14 days', async () => {
    const { id } = await newMonitor(api);
    await recordChecks(api.context.db, [checkOf(id, { latencyMs: 1 })]);
    const urlOverride = 'https://preview.example';
    const source = 'trigger';
    await recordChecks(api.context.db, [checkOf(id, { latencyMs: 2, urlOverride, source, slot: null })]);
    await recordChecks(api.context.db, [checkOf(id, { latencyMs: 3, source, slot: null })]);
    await api.database.pool.query(`
      create table events_old partition of events
        for values from ('${daysAgo(30)}') to ('${daysAgo(12)}')`);
    await api.database.pool.query(
      `insert into events (monitor_id, timestamp, id, status, latency_ms, region, source)
       select $1, now() - age, gen_random_uuid(), 'UP', extract(day from age), 'default', 'schedule'
       from (values (interval '13 days 12 hours'), (interval '15 days')) as ages (age)`,
      [id],
    );
    const [recent] = await ask([id]);
    expect(recent?.checks.map(({ latency }) => latency)).toEqual([13, 1, 3]);
  });

  test('leaves out unknown monitors and those of another account', async () => {
    const [own, othersMonitor] = [await newMonitor(api), await newMonitor(api, {}, api.other.key)];
    expect(await ask([othersMonitor.id, own.id, randomUUID()])).toEqual([{ monitorId: own.id, checks: [] }]);
    expect(await ask([own.id], await signIn(api, { accountId: api.other.id }))).toEqual([]);
  });

  test('accepts 200 monitors at once', async () => {
    const { id } = await newMonitor(api);
    const ids = [...Array.from({ length: 199 }, () => randomUUID()), id];
    expect(await ask(ids)).toEqual([{ monitorId: id, checks: [] }]);
  });

  test.each([
    ['without ids', '', 'is required'],
    ['an empty id', '?monitorIds=', 'must be 1 to 200 monitor ids, separated by commas'],
    ['an invalid id', '?monitorIds=x', 'must be 1 to 200 monitor ids, separated by commas'],
    [
      'a comma at the end',
      `?monitorIds=${randomUUID()},`,
      'must be 1 to 200 monitor ids, separated by commas',
    ],
    ['two lists', `?monitorIds=${randomUUID()}&monitorIds=${randomUUID()}`, 'must be given only once'],
    [
      '201 ids',
      `?monitorIds=${Array.from({ length: 201 }, () => randomUUID()).join(',')}`,
      'must be 1 to 200 monitor ids',
    ],
  ])('%s: 400', async (_name, query, message) => {
    const response = await member.get(PATH + query);
    expect(response.status).toBe(400);
    const { errors } = response.body as { errors: { path: string; message: string }[] };
    expect(errors).toHaveLength(1);
    expect(errors[0]?.path).toMatch(/^monitorIds(\.\d+)?$/);
    expect(errors[0]?.message).toContain(message);
  });

  test('needs a session, and supports GET only', async () => {
    expect((await browser(api).get(PATH)).status).toBe(401);
    const response = await member.post(PATH).send({});
    expect([response.status, response.headers['allow']]).toEqual([405, 'GET, HEAD']);
  });
});

/** The start of a day in UTC. */
function daysAgo(days: number): string {
  return `${new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)} 00:00:00+00`;
}
