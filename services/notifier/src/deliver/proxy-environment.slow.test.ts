import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { PUBLIC_ADDRESS } from '@tocsin/egress/testing/attack-vectors/hostile-names';
import { runBehindProxy } from '@tocsin/egress/testing/proxy-environment';
import { useAttackGround } from '@tocsin/egress/testing/use-attack-ground';

const NOTIFIER = fileURLToPath(new URL('../../', import.meta.url));

const WEBHOOKS = `
  import { createEgress } from '@tocsin/egress/create-egress';
  import { sendWebhook } from './dist/deliver/send-webhook.js';
  const [, address, extraCa, ...urls] = process.argv;
  const egress = createEgress({ allowCidrs: [address], extraCa });
  const secrets = ['whsec_' + Buffer.from('a secret of some channel').toString('base64')];
  const request = { id: 'delivery-1', accountId: 'account-1', channelId: 'channel-1', payload: '{}', secrets, headers: {}, routingKey: null, claimedAt: new Date() };
  const results = await Promise.all(urls.map((url) => sendWebhook({ ...request, url }, egress, 600_000)));
  console.log(JSON.stringify(results.map(({ statusCode, error }) => [statusCode, error])));
`;

const { ground } = await useAttackGround();

test('proxies of the environment neither divert webhooks nor bypass the guard', async () => {
  const urls = [PUBLIC_ADDRESS, '10.0.0.1'].map((host) => `https://${host}:${ground.port}/`);
  const proxyUrl = `http://127.0.0.1:${ground.port}`;
  const results = await runBehindProxy(proxyUrl, NOTIFIER, WEBHOOKS, [PUBLIC_ADDRESS, ground.ca, ...urls]);
  expect(results).toEqual([
    [200, null],
    [null, 'address 10.0.0.1 is in a private range; allow it with EGRESS_ALLOW_CIDRS'],
  ]);
});
