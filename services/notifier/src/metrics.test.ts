import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { SecretBox } from '@tocsin/core/secrets/secret-box';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { createChannel } from '@tocsin/db/channels/write-channels';
import { openDatabase, type OpenDatabase } from '@tocsin/db/database/open';
import { ensureFirstAccount } from '@tocsin/db/accounts/accounts';
import { createTestDatabase } from '@tocsin/embedded/testing/database';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { createMetrics } from '@tocsin/runtime/metrics';
import { createNotifierMetrics, registerBacklogMetrics } from './metrics.ts';
import { holdTimeouts } from './testing/deadlines.ts';

const logger = createSilentLogger();
let channelIds: string[];

const testDatabase = await createTestDatabase();
const database = open(testDatabase.url);
const accountId = (await ensureFirstAccount(database.db)).id;
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});
beforeEach(async () => {
  await database.pool.query('truncate channels, deliveries, status_changes cascade');
  const context = { db: database.db, secrets: new SecretBox([randomBytes(32)]) };
  const input = { name: 'ops', url: 'https://hooks.example', monitorIds: [] };
  const channels = [1, 2, 3, 4].map(() => createChannel(context, systemActor(accountId), input));
  channelIds = (await Promise.all(channels)).map(({ id }) => id);
  // A scrape must wait for Postgres on a busy machine, too.
  holdTimeouts();
});
afterEach(() => {
  jest.useRealTimers();
});

function open(url: string): OpenDatabase {
  return openDatabase({ url, poolSize: 5, applicationName: 'notifier test', onIdleError: () => undefined });
}

/** Returns the samples of a scrape right after the start of a notifier, by name and labels. */
async function scrape({ db }: OpenDatabase = database): Promise<Map<string, number>> {
  const registry = createMetrics();
  createNotifierMetrics(registry);
  registerBacklogMetrics(registry, db, logger);
  const lines = (await registry.metrics()).split('\n').filter((line) => line.startsWith('tocsin_'));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]));
}

async function insertDelivery(state: string, dueForSeconds: number | null): Promise<void> {
  await database.pool.query(
    `insert into deliveries (id, account_id, channel_id, status_change_id, monitor_id, event, timestamp, payload, state, next_attempt_at)
     values (gen_random_uuid(), $1, $2, gen_random_uuid(), gen_random_uuid(), 'monitor.down', now(), '{}', $3,
       now() - make_interval(secs => $4))`,
    [accountId, channelIds[0], state, dueForSeconds],
  );
}

async function insertStatusChange(secondsAgo: number, dispatched: boolean): Promise<void> {
  await database.pool.query(
    `insert into status_changes (id, account_id, monitor_id, from_status, to_status, region, timestamp, webhook_events, channel_ids,
       dispatched_at, created_at)
     values (gen_random_uuid(), $1, gen_random_uuid(), 'UP', 'DOWN', 'default', now(), '[]', '{}',
       case when $3 then now() end, now() - make_interval(secs => $2))`,
    [accountId, secondsAgo, dispatched],
  );
}

test('the backlog shows the outbox, due and held deliveries, and channels by state', async () => {
  expect((await scrape()).get('tocsin_outbox_oldest_seconds')).toBe(0);
  await insertStatusChange(900, true);
  await insertStatusChange(30, false);
  await insertStatusChange(120, false);
  await insertDelivery('pending', 60);
  await insertDelivery('pending', -600);
  await insertDelivery('held', null);
  await insertDelivery('held', null);
  await insertDelivery('delivered', null);
  const [, byService, alsoByService, byPerson] = channelIds;
  await database.pool.query(
    `update channels set enabled = false, disabled_reason = case when id = $3 then null else 'failed' end
     where id in ($1, $2, $3)`,
    [byService, alsoByService, byPerson],
  );
  const samples = await scrape();
  expect(Object.fromEntries(samples)).toMatchObject({
    tocsin_outbox: 2,
    tocsin_deliveries_due: 1,
    tocsin_deliveries_held: 2,
    'tocsin_channels{state="enabled"}': 1,
    'tocsin_channels{state="disabled"}': 1,
    'tocsin_channels{state="disabled_by_service"}': 2,
  });
  expect(samples.get('tocsin_deliveries_due_oldest_seconds')).toBeGreaterThanOrEqual(60);
  expect(samples.get('tocsin_outbox_oldest_seconds')).toBeGreaterThanOrEqual(120);
  expect(samples.get('tocsin_outbox_oldest_seconds')).toBeLessThan(900);
});

test('while Postgres refuses connections, the scrape shows the rest', async () => {
  const unavailable = open('postgres://postgres@127.0.0.1:1/postgres');
  const samples = await scrape(unavailable);
  expect([...samples.keys()].filter((name) => /outbox|due|held|channels\{|running/.test(name))).toEqual([]);
  expect(samples.get('tocsin_channels_disabled_total')).toBe(0);
  await unavailable.close();
});
