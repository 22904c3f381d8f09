import { expect, test } from '@jest/globals';
import { ATTACK_VECTORS } from '@tocsin/egress/testing/attack-vectors';
import { useAttackGround } from '@tocsin/egress/testing/use-attack-ground';
import { NO_DEADLINE_MS } from '../testing/deadlines.ts';
import { webhookTo } from '../testing/webhook-to.ts';
import { sendWebhook, type WebhookResult } from './send-webhook.ts';

const GUARDED = /; allow it with EGRESS_ALLOW_CIDRS$/;
/** The first and last vector of each kind show that the guard is wired in. packages/egress tests them all. */
const SAMPLES = [...new Set(ATTACK_VECTORS.map(({ kind }) => kind))].flatMap((kind) => {
  const members = ATTACK_VECTORS.filter((vector) => vector.kind === kind);
  return [...new Set([members[0], members.at(-1)])].flatMap((vector) => vector ?? []);
});

const { ground, egress } = await useAttackGround();

const send = (url: string): Promise<WebhookResult> =>
  sendWebhook(webhookTo(url, { accountId: url, channelId: url }), egress, NO_DEADLINE_MS);

/** Returns the outcome of an attempt in the terms of the catalogue. */
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
