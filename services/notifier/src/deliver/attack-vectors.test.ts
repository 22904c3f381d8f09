import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createEgress, type Egress } from '@tocsin/egress/create-egress';
import { AttackGround } from '@tocsin/egress/testing/attack-ground';
import { ATTACK_VECTORS, halfByKind, vectorsByKind } from '@tocsin/egress/testing/attack-vectors';
import { PUBLIC_ADDRESS } from '@tocsin/egress/testing/attack-vectors/hostile-names';
import { NO_DEADLINE_MS } from '../testing/deadlines.ts';
import { sendWebhook, type WebhookResult } from './send-webhook.ts';

const SECRETS = [`whsec_${Buffer.from('a secret of some channel').toString('base64')}`];
const STATUSES = [301, 302, 303, 307, 308];
const GUARDED = /; allow it with EGRESS_ALLOW_CIDRS$/;

let ground: AttackGround;
let egress: Egress;
/** What the public server sends each path to. */
const locations = new Map<string, { status: number; to: string }>();
let requests = 0;
beforeAll(async () => {
  ground = await AttackGround.open();
  egress = createEgress({
    allowCidrs: [PUBLIC_ADDRESS],
    extraCa: ground.ca,
    lookup: ground.dns.lookup,
    checkUrlLookupMs: NO_DEADLINE_MS,
  });
  ground.respond = (request, response) => {
    requests += 1;
    request.resume();
    const next = locations.get(request.url ?? '/');
    const headers = next === undefined ? {} : { location: Buffer.from(next.to).toString('latin1') };
    response.writeHead(next?.status ?? 200, { ...headers, connection: 'close' }).end();
  };
});
afterAll(() => ground.close());
afterEach(() => {
  expect(ground.canaryConnections).toBe(0);
  expect(ground.watch.take().filter((ip) => ip !== PUBLIC_ADDRESS)).toEqual([]);
});

function send(url: string, through: Egress = egress): Promise<WebhookResult> {
  return sendWebhook(
    {
      id: 'delivery-1',
      accountId: url,
      channelId: url,
      url,
      payload: '{}',
      secrets: SECRETS,
      claimedAt: new Date(),
    },
    through,
    NO_DEADLINE_MS,
  );
}

/** The outcome of an attempt, in the terms of the catalogue. */
function outcomeOf({ statusCode, error }: WebhookResult): string {
  if (statusCode === 200 && error === null) return 'public';
  if (error !== null && GUARDED.test(error)) return 'blocked';
  if (error === 'the name of the receiver does not resolve') return 'unknown name';
  const none = ['Invalid URL', 'the URL of the channel is not HTTPS'];
  return error !== null && none.includes(error) ? 'no URL' : `${statusCode}: ${error}`;
}

describe(`a webhook to each of ${ATTACK_VECTORS.length} vectors`, () => {
  test.each(vectorsByKind())('%s: %i vectors', async (_kind, _count, vectors) => {
    const seen = await Promise.all(
      vectors.map(async ({ url }) => ({ url, outcome: outcomeOf(await send(ground.secureUrl(url))) })),
    );
    expect(seen).toEqual(
      vectors.map(({ url, outcome }) => ({
        url,
        outcome: ground.secureUrl(url) === ground.url(url) ? 'no URL' : outcome,
      })),
    );
  });
});

/** Of half the vectors those that fit into a header line. */
const REDIRECTS = halfByKind('first').map(
  ([kind, , half]) => [kind, half.filter(({ url }) => !/[^\P{Cc}\t]/u.test(url))] as const,
);

describe('a receiver that redirects', () => {
  test('there are at least 300 targets of redirects', () => {
    expect(REDIRECTS.flatMap(([, vectors]) => vectors).length).toBeGreaterThanOrEqual(300);
  });

  test.each(REDIRECTS)('%s', async (_kind, vectors) => {
    requests = 0;
    const results = await Promise.all(
      vectors.map(({ url }, index) => {
        const status = STATUSES[index % STATUSES.length] ?? 302;
        locations.set(`/${index}`, { status, to: index % 2 === 0 ? ground.url(url) : ground.secureUrl(url) });
        return send(`https://public.attack.test:${ground.port}/${index}`);
      }),
    );
    const expected = vectors.map((_, index) => `responded with status ${STATUSES[index % STATUSES.length]}`);
    expect(results.map(({ error }) => error)).toEqual(expected);
    expect(requests).toBe(vectors.length);
    locations.clear();
  });
});

test('blocks a receiver whose name resolved to a public address and now resolves to a private one', async () => {
  ground.dns.zone.set('turns.attack.test', (question) =>
    question === 1 ? [PUBLIC_ADDRESS] : ['127.0.0.1', '::1'],
  );
  const url = `https://turns.attack.test:${ground.port}/`;
  expect(await egress.checkUrl(url, 'account-1')).toBeNull();
  expect((await send(url)).error).toBe(
    'address ::1 of turns.attack.test is in a loopback range; allow it with EGRESS_ALLOW_CIDRS',
  );
});

test('a UNIX socket is not a valid receiver', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'tocsin-attack-'));
  const socketFile = path.join(folder, 'docker.sock');
  let connections = 0;
  const server = createServer(() => (connections += 1)).listen(socketFile);
  await once(server, 'listening');
  const urls = [
    `https://unix:${socketFile}:/containers/json`,
    `unix:${socketFile}:/x`,
    `https:unix:${socketFile}:/x`,
  ];
  for (const url of urls)
    expect(await send(url)).toMatchObject({ statusCode: null, error: expect.any(String) });
  expect(connections).toBe(0);
  server.close();
  await rm(folder, { recursive: true });
});

test('with the canary allowed the same webhook reaches it once', async () => {
  const open = createEgress({ allowCidrs: ['127.0.0.1'], extraCa: ground.ca });
  const url = `https://127.0.0.1:${ground.port}/`;
  const result = await send(url, open);
  expect([result.statusCode, ground.canaryConnections, ground.watch.take()]).toEqual([200, 1, ['127.0.0.1']]);
  ground.canaryConnections = 0;
});
