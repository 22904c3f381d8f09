import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { createEgress, type Egress } from '@tocsin/egress/create-egress';
import { AttackGround } from '@tocsin/egress/testing/attack-ground';
import { ATTACK_VECTORS } from '@tocsin/egress/testing/attack-vectors';
import { PUBLIC_ADDRESS } from '@tocsin/egress/testing/attack-vectors/hostile-names';
import { NO_DEADLINE_MS } from '../testing/deadlines.ts';
import { webhookTo } from '../testing/webhook-to.ts';
import { sendWebhook, type WebhookResult } from './send-webhook.ts';

const GUARDED = /; allow it with EGRESS_ALLOW_CIDRS$/;
/** The first and the last vector of each kind prove that the guard is wired in; packages/egress tests them all. */
const SAMPLES = [...new Set(ATTACK_VECTORS.map(({ kind }) => kind))].flatMap((kind) => {
  const members = ATTACK_VECTORS.filter((vector) => vector.kind === kind);
  return [...new Set([members[0], members.at(-1)])].flatMap((vector) => vector ?? []);
});

let ground: AttackGround;
let egress: Egress;
beforeAll(async () => {
  ground = await AttackGround.open();
  egress = createEgress({
    allowCidrs: [PUBLIC_ADDRESS],
    extraCa: ground.ca,
    lookup: ground.dns.lookup,
    checkUrlLookupMs: NO_DEADLINE_MS,
  });
});
afterAll(() => ground.close());
afterEach(() => {
  expect(ground.canaryConnections).toBe(0);
  expect(ground.watch.take().filter((ip) => ip !== PUBLIC_ADDRESS)).toEqual([]);
});

const send = (url: string, through = egress): Promise<WebhookResult> =>
  sendWebhook(webhookTo(url, { accountId: url, channelId: url }), through, NO_DEADLINE_MS);

/** The outcome of an attempt, in the terms of the catalogue. */
function outcomeOf({ statusCode, error }: WebhookResult): string {
  if (statusCode === 200 && error === null) return 'public';
  if (error !== null && GUARDED.test(error)) return 'blocked';
  if (error === 'the name of the receiver does not resolve') return 'unknown name';
  const none = ['Invalid URL (ERR_INVALID_URL)', 'the URL of the channel is not HTTPS'];
  return error !== null && none.includes(error) ? 'no URL' : `${statusCode}: ${error}`;
}

test('the guard blocks webhooks to every kind of attack vector', async () => {
  const sending = SAMPLES.map(async ({ url }) => [url, outcomeOf(await send(ground.secureUrl(url)))]);
  const expected = SAMPLES.map(({ url, outcome }) => {
    return [url, ground.secureUrl(url) === ground.url(url) ? 'no URL' : outcome];
  });
  expect(await Promise.all(sending)).toEqual(expected);
  expect(new Set(expected.map(([, outcome]) => outcome)).size).toBeGreaterThan(2);
});

test('a name that now resolves to a private address is blocked, although its check passed', async () => {
  ground.dns.zone.set('turns.attack.test', (question) => (question === 1 ? [PUBLIC_ADDRESS] : ['127.0.0.1']));
  const url = `https://turns.attack.test:${ground.port}/`;
  expect(await egress.checkUrl(url, 'account-1')).toBeNull();
  expect(outcomeOf(await send(url))).toBe('blocked');
});

test('a webhook reaches the canary once if its address is allowed', async () => {
  const open = createEgress({ allowCidrs: ['127.0.0.1'], extraCa: ground.ca });
  const { statusCode } = await send(`https://127.0.0.1:${ground.port}/`, open);
  expect([statusCode, ground.canaryConnections, ground.watch.take()]).toEqual([200, 1, ['127.0.0.1']]);
  ground.canaryConnections = 0;
});
