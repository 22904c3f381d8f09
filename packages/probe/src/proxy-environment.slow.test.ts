import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { PUBLIC_ADDRESS } from '@tocsin/egress/testing/attack-vectors/hostile-names';
import { runBehindProxy } from '@tocsin/egress/testing/proxy-environment';
import { useAttackGround } from '@tocsin/egress/testing/use-attack-ground';

const PACKAGE = fileURLToPath(new URL('../', import.meta.url));

const CHECKS = `
  import { createEgress } from '@tocsin/egress/create-egress';
  import { Prober } from './dist/probe.js';
  const [, address, extraCa, ...urls] = process.argv;
  const prober = new Prober({ egress: createEgress({ allowCidrs: [address], extraCa }) });
  const target = { method: 'GET', headers: null, body: null, timeoutMs: 600_000, assertions: null, owner: { account: '', resource: '' } };
  const results = await Promise.all(urls.map((url) => prober.probe({ ...target, url })));
  console.log(JSON.stringify(results.map(({ status, statusCode, errorDetail }) => [status, statusCode, errorDetail])));
`;

const { ground } = await useAttackGround();
const proxyUrl = `http://127.0.0.1:${ground.port}`;

test('proxies of the environment neither divert checks nor bypass the guard', async () => {
  const urls = [PUBLIC_ADDRESS, '10.0.0.1'].flatMap((host) =>
    ['http', 'https'].map((scheme) => `${scheme}://${host}:${ground.port}/`),
  );
  const results = await runBehindProxy(proxyUrl, PACKAGE, CHECKS, [PUBLIC_ADDRESS, ground.ca, ...urls]);
  const blocked = 'address 10.0.0.1 is in a private range; allow it with EGRESS_ALLOW_CIDRS';
  expect(results).toEqual([
    ['UP', 200, null],
    ['UP', 200, null],
    ['DOWN', null, blocked],
    ['DOWN', null, blocked],
  ]);
});
