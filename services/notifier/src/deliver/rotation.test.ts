import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { SecretBox } from '@tocsin/core/secrets/secret-box';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { rotateChannelSecret } from '@tocsin/db/channels/channel-secrets';
import { createChannel } from '@tocsin/db/channels/write-channels';
import { openDatabase, type OpenDatabase } from '@tocsin/db/database/open';
import { claimDeliveries } from '@tocsin/db/deliveries/claim-deliveries';
import { createTestDelivery } from '@tocsin/db/deliveries/test-deliveries';
import { ensureAccount } from '@tocsin/db/users/users';
import { createEgress, type Egress } from '@tocsin/egress/create-egress';
import { WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';
import { createTestDatabase, type TestDatabase } from '@tocsin/embedded/testing/database';
import { Webhook } from 'standardwebhooks';
import { NO_DEADLINE_MS } from '../testing/deadlines.ts';
import { sendWebhook } from './send-webhook.ts';

const secrets = new SecretBox([randomBytes(32)]);
let testDatabase: TestDatabase;
let database: OpenDatabase;
let receiver: WebhookReceiver;
let egress: Egress;
let accountId: string;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({
    url: testDatabase.url,
    poolSize: 2,
    applicationName: 'notifier test',
    onIdleError: () => undefined,
  });
  ({ id: accountId } = await ensureAccount(database.db));
  receiver = await WebhookReceiver.start();
  egress = createEgress({ allowCidrs: ['127.0.0.0/8'], extraCa: receiver.ca });
});
afterAll(async () => {
  await receiver.stop();
  await database.close();
  await testDatabase.drop();
});

/** A channel's next webhook as its receiver gets it, signed with the secrets that are valid then. */
async function nextWebhook(channelId: string): Promise<{ body: string; headers: Record<string, string> }> {
  const context = { db: database.db, secrets };
  const deliveryId = await createTestDelivery(database.db, accountId, channelId, 'default');
  const [claimed] = await claimDeliveries(context, { deliveryId });
  if (!claimed) throw new Error('not claimed');
  expect(await sendWebhook(claimed, egress, NO_DEADLINE_MS)).toMatchObject({ statusCode: 200 });
  const received = receiver.received.find((webhook) => webhook.headers['webhook-id'] === deliveryId);
  if (!received) throw new Error('not received');
  return { body: received.body, headers: received.headers as Record<string, string> };
}

function verifies(secret: string, body: string, headers: Record<string, string>): boolean {
  try {
    new Webhook(secret).verify(body, headers);
    return true;
  } catch {
    return false;
  }
}

describe('signatures through a rotation', () => {
  test('a receiver verifies with the secret it has, until the overlap ends', async () => {
    const context = { db: database.db, secrets };
    const { id, secret: first } = await createChannel(context, systemActor(accountId), {
      name: 'ops',
      url: receiver.url('/hook'),
      monitorIds: [],
    });
    const before = await nextWebhook(id);
    expect(before.headers['webhook-signature']?.split(' ')).toHaveLength(1);
    expect(verifies(first, before.body, before.headers)).toBe(true);

    const { secret: second } = await rotateChannelSecret(context, systemActor(accountId), id);
    const during = await nextWebhook(id);
    expect(during.headers['webhook-signature']?.split(' ')).toHaveLength(2);
    expect([first, second].map((secret) => verifies(secret, during.body, during.headers))).toEqual([
      true,
      true,
    ]);

    const { secret: third } = await rotateChannelSecret(context, systemActor(accountId), id);
    const again = await nextWebhook(id);
    const valid = [first, second, third].map((secret) => verifies(secret, again.body, again.headers));
    expect(valid).toEqual([false, true, true]);

    await database.pool.query('update channels set previous_secret_expires_at = now()');
    const after = await nextWebhook(id);
    expect([second, third].map((secret) => verifies(secret, after.body, after.headers))).toEqual([
      false,
      true,
    ]);
  });

  test('a changed id, timestamp or body is rejected with either secret', async () => {
    const context = { db: database.db, secrets };
    const input = { name: 'ops', url: receiver.url('/hook'), monitorIds: [] };
    const { id, secret: first } = await createChannel(context, systemActor(accountId), input);
    const { secret: second } = await rotateChannelSecret(context, systemActor(accountId), id);
    const { body, headers } = await nextWebhook(id);
    const later = String(Number(headers['webhook-timestamp']) + 1);
    const stranger = `whsec_${randomBytes(24).toString('base64')}`;
    for (const secret of [first, second]) {
      expect(verifies(secret, body, headers)).toBe(true);
      expect(verifies(secret, body.replace('"latency":0', '"latency":1'), headers)).toBe(false);
      expect(verifies(secret, body, { ...headers, 'webhook-id': 'other' })).toBe(false);
      expect(verifies(secret, body, { ...headers, 'webhook-timestamp': later })).toBe(false);
      expect(
        verifies(secret, body, {
          ...headers,
          'webhook-signature': `v1,${randomBytes(32).toString('base64')}`,
        }),
      ).toBe(false);
    }
    expect(verifies(stranger, body, headers)).toBe(false);
  });
});
