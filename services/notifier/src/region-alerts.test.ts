import { afterAll, beforeEach, expect, test } from '@jest/globals';
import { openDatabase } from '@tocsin/db/database/open';
import { MAX_ALERT_ATTEMPTS } from '@tocsin/db/regions/region-alerts';
import { createTestDatabase } from '@tocsin/embedded/testing/database';
import { createSilentLogger } from '@tocsin/runtime/logger';
import type { WebhookRequest } from './deliver/send-webhook.ts';
import { alertOperators } from './region-alerts.ts';
import { SECRET } from './testing/webhook-to.ts';

const SINCE = Date.parse('2026-03-01T03:12:00Z');
const URL = 'https://alerts.example/tocsin';
let sent: WebhookRequest[] = [];
/** Error of each attempt, or null if it is delivered. */
let error: string | null = null;

const testDatabase = await createTestDatabase();
const { url } = testDatabase;
const database = openDatabase({ url, poolSize: 2, applicationName: 'test', onIdleError: () => undefined });
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});
beforeEach(async () => {
  error = null;
  await database.pool.query('truncate region_alerts');
});

/** Runs one round in which every planned attempt is due. @returns the messages that it sent */
async function round(...late: string[]): Promise<unknown[]> {
  sent = [];
  await database.pool.query(
    'update region_alerts set next_attempt_at = now() where next_attempt_at is not null',
  );
  await alertOperators({
    db: database.db,
    listLate: async () => new Map(late.map((region) => [region, { since: SINCE, lateMs: 21_000 }])),
    url: URL,
    secret: SECRET,
    send: async (request) => {
      sent.push(request);
      const result = { startedAt: request.claimedAt, durationMs: 1, statusCode: null };
      return { ...result, error, responseExcerpt: null, retryAfterMs: null };
    },
    logger: createSilentLogger(),
  });
  return sent.map(({ payload }) => JSON.parse(payload) as unknown);
}

const lateSince = new Date(SINCE).toISOString();
const late = (region: string) => ({ event: 'region.late', region, lateSince, recoveredAt: null });
const recovered = (region: string) => ({
  event: 'region.recovered',
  region,
  lateSince,
  recoveredAt: expect.any(String),
});

test('operators are told once that a region is late, and once that it records again', async () => {
  expect(await round('eu')).toEqual([]);
  expect(await round('eu')).toEqual([late('eu')]);
  expect(sent).toMatchObject([{ url: URL, secrets: [SECRET], id: expect.stringMatching(/^[0-9a-f-]{36}$/) }]);
  expect(await round('eu', 'us')).toEqual([]);
  expect(await round('eu', 'us')).toEqual([late('us')]);
  // A region that recovered may be late again at once.
  expect(await round('us')).toEqual([]);
  expect(await round('us')).toEqual([recovered('eu')]);
  expect(await round('us')).toEqual([]);
  expect(await round('us', 'eu')).toEqual([]);
  expect(await round('us', 'eu')).toEqual([late('eu')]);
});

test('a region that is late for a moment is not reported', async () => {
  expect([await round('eu'), await round(), await round()]).toEqual([[], [], []]);
});

test('a region that is late again before its recovery is reported counts as late all the time', async () => {
  await round('eu');
  await round('eu');
  expect([await round(), await round('eu'), await round('eu')]).toEqual([[], [], []]);
});

test('a message that fails is repeated with its id, and comes before the next one', async () => {
  error = 'responded with status 500';
  await round('eu');
  await round('eu');
  const [first] = sent;
  expect(await round()).toEqual([late('eu')]);
  expect(sent[0]?.id).toBe(first?.id);
  error = null;
  await round();
  expect([await round(), await round()]).toEqual([[], [recovered('eu')]]);
});

test('a message that always fails is abandoned', async () => {
  error = 'connection refused';
  await round('eu');
  for (let attempt = 0; attempt < MAX_ALERT_ATTEMPTS; attempt += 1) expect(await round('eu')).toHaveLength(1);
  expect(await round('eu')).toEqual([]);
});
