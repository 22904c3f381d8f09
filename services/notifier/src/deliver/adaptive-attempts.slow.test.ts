import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeEach, expect, test } from '@jest/globals';
import { MAX_ATTEMPT_LIMIT } from '@tocsin/core/deliveries/attempt-limit';
import { SecretBox } from '@tocsin/core/secrets/secret-box';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { createChannel } from '@tocsin/db/channels/write-channels';
import { openDatabase } from '@tocsin/db/database/open';
import { claimDeliveries } from '@tocsin/db/deliveries/claim-deliveries';
import { recordAttempt, recordDelivered } from '@tocsin/db/deliveries/record-attempt';
import { ensureFirstAccount } from '@tocsin/db/accounts/accounts';
import { NOTHING_DISPATCHED } from '@tocsin/db/status-changes/dispatch-status-changes';
import { createEgress } from '@tocsin/egress/create-egress';
import { WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';
import { createTestDatabase } from '@tocsin/embedded/testing/database';
import { until } from '@tocsin/embedded/testing/until';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { createMetrics } from '@tocsin/runtime/metrics';
import { createNotifierMetrics } from '../metrics.ts';
import { startRelay, type Relay } from '../relay.ts';
import { NO_DEADLINE_MS } from '../testing/deadlines.ts';
import { Deliverer } from './deliverer.ts';
import { sendWebhook } from './send-webhook.ts';

/** Below this, a busy machine could make a receiver look slow. */
const QUICK_MS = 20;
const HANGS_AFTER_MS = 50;
const secrets = new SecretBox([randomBytes(32)]);

let receiver: WebhookReceiver;
let notifiers: { relay: Relay; deliverer: Deliverer }[];
/** One channel of each of two accounts. */
let busy: string;
let other: string;

const testDatabase = await createTestDatabase();
const { url } = testDatabase;
const onIdleError = (): void => undefined;
const database = openDatabase({ url, poolSize: 10, applicationName: 'notifier test', onIdleError });
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

beforeEach(async () => {
  await database.pool.query('truncate accounts cascade');
  receiver = await WebhookReceiver.start();
  const [first, second] = [await ensureFirstAccount(database.db), await addAccount()];
  busy = await addChannel(first.id, '/busy');
  other = await addChannel(second, '/other');
  notifiers = [startNotifier(), startNotifier()];
});
afterEach(async () => {
  await receiver.stop();
  await Promise.all(notifiers.map(({ relay }) => relay.stop()));
  await Promise.all(notifiers.map(({ deliverer }) => deliverer.close()));
});

async function addAccount(): Promise<string> {
  const query = `insert into accounts (id, name) values (gen_random_uuid(), 'Other') returning id`;
  return (await database.pool.query<{ id: string }>(query)).rows[0]?.id ?? '';
}

async function addChannel(accountId: string, path: string): Promise<string> {
  const fields = { name: 'ops', url: receiver.url(path), monitorIds: [] };
  return (await createChannel({ db: database.db, secrets }, systemActor(accountId), fields)).id;
}

function startNotifier(): { relay: Relay; deliverer: Deliverer } {
  const egress = createEgress({ allowCidrs: ['127.0.0.0/8'], extraCa: receiver.ca });
  const deliverer = new Deliverer({
    send: async (request) => {
      const deadlineMs = request.url.endsWith('/hangs') ? HANGS_AFTER_MS : NO_DEADLINE_MS;
      return { ...(await sendWebhook(request, egress, deadlineMs)), durationMs: QUICK_MS };
    },
    recordAttempt: (attempt) => recordAttempt(database.db, attempt),
    recordDelivered: (attempts) => recordDelivered(database.db, attempts),
    watchOutages: async () => undefined,
    metrics: createNotifierMetrics(createMetrics()),
    logger: createSilentLogger(),
    onRecorded: () => relay.wake(),
  });
  const relay = startRelay({
    dispatch: async () => NOTHING_DISPATCHED,
    onRefused: () => undefined,
    claimDue: (scope) => claimDeliveries({ db: database.db, secrets }, scope),
    deliverer,
    logger: createSilentLogger(),
  });
  return { relay, deliverer };
}

/** Adds due deliveries, each for another monitor. */
async function addDue(channelId: string, count: number): Promise<void> {
  await database.pool.query(
    `insert into deliveries (id, account_id, channel_id, status_change_id, monitor_id, event, timestamp, payload, state)
     select gen_random_uuid(), account_id, id, gen_random_uuid(), gen_random_uuid(), 'monitor.down', now(), '{}', 'pending'
     from channels, generate_series(1, $2) where id = $1`,
    [channelId, count],
  );
}

async function numberIn(query: string, channelId: string): Promise<number> {
  const { rows } = await database.pool.query<{ number: number }>(query, [channelId]);
  return rows[0]?.number ?? Number.NaN;
}

const countOf = (channelId: string, condition: string): Promise<number> =>
  numberIn(
    `select count(*)::int as number from deliveries where channel_id = $1 and ${condition}`,
    channelId,
  );

const limitOf = (channelId: string): Promise<number> =>
  numberIn('select attempt_limit as number from channels where id = $1', channelId);

const setUrl = (channelId: string, path: string): Promise<unknown> =>
  database.pool.query('update channels set url = $2 where id = $1', [channelId, receiver.url(path)]);

const untilDelivered = (channelId: string): Promise<unknown> =>
  until('every delivery', async () => (await countOf(channelId, `state <> 'delivered'`)) === 0);

/** Ends the wait of a channel's deliveries. */
async function skipWait(channelId: string): Promise<void> {
  await database.pool.query('update channels set paused_until = null where id = $1', [channelId]);
  await database.pool.query(
    `update deliveries set next_attempt_at = now() where channel_id = $1 and state = 'pending' and leased_until is null`,
    [channelId],
  );
}

test('a receiver that responds gets more concurrent attempts, up to the maximum, and each webhook once', async () => {
  const COUNT = 400;
  const waiting = new Set<ServerResponse>();
  let most = 0;
  receiver.respond = (_, response) => {
    waiting.add(response);
    most = Math.max(most, waiting.size);
  };
  await addDue(busy, COUNT);
  let released = 0;
  while (released < COUNT) {
    await until('the limit to be used', async () => {
      return waiting.size === Math.min(await limitOf(busy), COUNT - released);
    });
    const responses = [...waiting];
    waiting.clear();
    released += responses.length;
    for (const response of responses) response.writeHead(204).end();
    await until('the responses to be recorded', async () => {
      return (await countOf(busy, `state = 'delivered'`)) === released;
    });
  }
  expect(most).toBe(MAX_ATTEMPT_LIMIT);
  await untilDelivered(busy);
  expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(COUNT);
  expect(receiver.received).toHaveLength(COUNT);
});

test.each(['/overloaded', '/hangs'])('%s gets one attempt at a time, and recovers', async (path) => {
  receiver.respond = (webhook, response) => {
    if (webhook.path === '/other') response.writeHead(204).end();
    else if (path === '/overloaded') response.writeHead(503).end();
  };
  await setUrl(busy, path);
  await addDue(busy, 60);
  await until('the lowest limit', async () => (await limitOf(busy)) === 1);
  await addDue(other, 40);
  await untilDelivered(other);
  receiver.respond = (_, response) => void response.writeHead(204).end();
  await setUrl(busy, '/busy');
  await until('every delivery', async () => {
    await skipWait(busy);
    return (await countOf(busy, `state <> 'delivered'`)) === 0;
  });
  expect(await limitOf(busy)).toBeGreaterThan(1);
});
