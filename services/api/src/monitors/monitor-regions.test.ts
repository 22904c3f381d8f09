import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type MonitorRegion, monitorRegionSchema } from '@tocsin/contracts/monitors/events';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import type { CheckRecord } from '@tocsin/db/checks/check-record';
import type TestAgent from 'supertest/lib/agent.js';
import { z } from 'zod';
import { checkOf, MONITORS, newMonitor } from '../testing/monitors.ts';
import { browser, signIn } from '../testing/sign-in.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

const DASHBOARD = '/api/dashboard/monitors';
const FAILED = { status: 'DOWN', statusCode: 500, errorReason: 'HTTP_500' } as const;
const answerSchema = z.strictObject({ regions: z.array(monitorRegionSchema) });

let api: TestApi;
let member: TestAgent;
beforeAll(async () => {
  api = await openTestApi();
  member = await signIn(api, { role: 'member' });
});
afterAll(() => api.close());

async function regionsOf(id: string): Promise<MonitorRegion[]> {
  const response = await member.get(`${DASHBOARD}/${id}/regions`);
  expect(response.status).toBe(200);
  return answerSchema.parse(response.body).regions;
}

async function record(id: string, fields: Partial<CheckRecord>): Promise<void> {
  const [outcome] = await recordChecks(api.context.db, [checkOf(id, fields)]);
  expect(outcome?.kind).toBe('recorded');
}

describe('GET /api/dashboard/monitors/:id/regions', () => {
  test('returns the latest result of each region, by code', async () => {
    const { id } = await newMonitor(api, { regions: ['us', 'eu', 'ap'], failureThreshold: 2 });
    await record(id, { region: 'us', ...FAILED });
    await record(id, { region: 'us', ...FAILED });
    await record(id, { region: 'eu', ...FAILED });
    const common = { eligible: true, lastCheckedAt: expect.any(String), certificateExpiresAt: null };
    const [ap, eu, us] = await regionsOf(id);
    expect(ap).toEqual({
      region: 'ap',
      status: null,
      failing: false,
      consecutiveFailures: 0,
      ...common,
      lastCheckedAt: null,
    });
    expect(eu).toEqual({ region: 'eu', status: 'DOWN', failing: false, consecutiveFailures: 1, ...common });
    expect(us).toEqual({ region: 'us', status: 'DOWN', failing: true, consecutiveFailures: 2, ...common });
    await record(id, { region: 'us' });
    expect((await regionsOf(id))[2]).toMatchObject({ status: 'UP', failing: false, consecutiveFailures: 0 });
    const { body } = await member.get(`${DASHBOARD}/${id}`);
    const { lastCheckedAt } = (body as { monitor: { lastCheckedAt: string } }).monitor;
    expect((await regionsOf(id))[2]?.lastCheckedAt).toBe(lastCheckedAt);
  });

  test('a region without a result for three intervals and the timeout is not eligible', async () => {
    const { id } = await newMonitor(api, { interval: 60, timeout: 10, regions: ['fresh', 'stale'] });
    await record(id, { region: 'stale' });
    await api.database.pool.query(
      `update monitor_regions set last_result_at = now() - case region when 'stale' then 191 else 0 end * interval '1 second'
       where monitor_id = $1`,
      [id],
    );
    const eligibility = (await regionsOf(id)).map(({ region, eligible }) => [region, eligible]);
    expect(eligibility).toEqual([
      ['fresh', true],
      ['stale', false],
    ]);
  });

  test('returns the certificate last seen of the current check', async () => {
    const monitor = await newMonitor(api);
    const { id } = monitor;
    const seen = async (): Promise<string | null | undefined> =>
      (await regionsOf(id))[0]?.certificateExpiresAt;
    const update = async (fields: object): Promise<void> => {
      expect((await api.as().put(`${MONITORS}/${id}`).send(fields)).status).toBe(200);
    };
    const [first, second] = [new Date('2027-01-02T03:04:05Z'), new Date('2028-01-02T03:04:05Z')];
    await record(id, { certificateExpiresAt: first });
    expect(await seen()).toBe(first.toISOString());
    // A check that failed before TLS has no certificate.
    await record(id, { ...FAILED, statusCode: null, errorReason: 'CONNECTION_REFUSED' });
    expect(await seen()).toBe(first.toISOString());
    const urlOverride = 'https://preview.example';
    await record(id, { urlOverride, source: 'trigger', slot: null, certificateExpiresAt: second });
    expect(await seen()).toBe(first.toISOString());
    await record(id, { certificateExpiresAt: second });
    expect(await seen()).toBe(second.toISOString());
    await update({ timeout: 20 });
    expect(await seen()).toBe(second.toISOString());
    await update({ url: 'http://shop.example/health' });
    expect(await seen()).toBeNull();
    // A late result of the previous target.
    await record(id, { revision: 1, certificateExpiresAt: first });
    expect(await seen()).toBeNull();
    await record(id, { revision: 3 });
    expect(await seen()).toBeNull();
  });

  test("an unknown monitor, another account's, a malformed id: 404", async () => {
    const { id: othersMonitorId } = await newMonitor(api, {}, api.other.key);
    for (const other of [randomUUID(), othersMonitorId, 'x']) {
      expect((await member.get(`${DASHBOARD}/${other}/regions`)).status).toBe(404);
    }
  });

  test('needs a session, and supports GET only', async () => {
    const { id } = await newMonitor(api);
    expect((await browser(api).get(`${DASHBOARD}/${id}/regions`)).status).toBe(401);
    const response = await member.post(`${DASHBOARD}/${id}/regions`).send({});
    expect([response.status, response.headers['allow']]).toEqual([405, 'GET, HEAD']);
    expect((await api.as().get(`${MONITORS}/${id}/regions`)).status).toBe(404);
  });
});
