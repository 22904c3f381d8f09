import { beforeEach, describe, expect, test } from '@jest/globals';
import { vectorsByKind } from '@tocsin/egress/testing/attack-vectors';
import { PUBLIC_ADDRESS } from '@tocsin/egress/testing/attack-vectors/hostile-names';
import { useAttackGround } from '@tocsin/egress/testing/use-attack-ground';
import { check } from './testing/local-targets.ts';

const STATUSES = [301, 302, 303, 307, 308];
const GUARDED = /; allow it with EGRESS_ALLOW_CIDRS$/;
/** One blocked vector of each kind that fits into a header line. The two slashes prevent it from being a path on the same server. */
const VECTORS = vectorsByKind().flatMap(([, , vectors]) =>
  vectors
    .filter(({ url, outcome }) => outcome === 'blocked' && /^http:\/\/\P{Cc}+$/u.test(url))
    .slice(0, 1)
    .map(({ url }) => url),
);

/** Redirect of the public server for a path, or null for a response with 200. */
let location: (path: string) => { status: number; to: string } | null;
let requests = 0;
const { ground, egress } = await useAttackGround();
ground.respond = (request, response) => {
  requests += 1;
  request.resume();
  const next = location(request.url ?? '/');
  // Headers are bytes, so text that is not ASCII is sent as UTF-8.
  const headers = next === null ? {} : { location: Buffer.from(next.to).toString('latin1') };
  response.writeHead(next?.status ?? 200, { ...headers, connection: 'close' }).end();
};
beforeEach(() => {
  requests = 0;
  location = () => null;
});

const origin = (scheme = 'http'): string => `${scheme}://public.attack.test:${ground.port}`;
const canary = (): string => `//127.0.0.1:${ground.port}/`;

test('a blocked target of each kind is a result', async () => {
  for (const url of VECTORS.flatMap((one) => [ground.url(one), ground.secureUrl(one)])) {
    expect([url, await check(url, egress)]).toMatchObject([
      url,
      {
        status: 'DOWN',
        latencyMs: 0,
        statusCode: null,
        errorReason: 'UNKNOWN_ERROR',
        errorDetail: expect.stringMatching(GUARDED),
      },
    ]);
  }
});

describe('each hop of a redirect is guarded', () => {
  test('to a blocked target of each kind', async () => {
    for (const [index, vector] of VECTORS.entries()) {
      const status = STATUSES[index % STATUSES.length] ?? 302;
      location = () => ({ status, to: ground.url(vector) });
      const scheme = index % 2 === 0 ? 'http' : 'https';
      const result = await check(origin(scheme), egress, { method: 'POST', body: 'x' });
      expect([vector, result]).toMatchObject([
        vector,
        { status: 'DOWN', statusCode: null, errorDetail: expect.stringMatching(GUARDED) },
      ]);
    }
    expect(requests).toBe(VECTORS.length);
  });

  test('to another scheme, without a scheme, and over a path', async () => {
    const { port } = ground;
    const blocked = [`HTTPS:${canary()}`, canary(), `\\\\127.0.0.1:${port}/`, `/\\[::1]:${port}/`];
    for (const to of blocked) {
      location = () => ({ status: 302, to });
      for (const scheme of ['http', 'https']) {
        const { errorDetail } = await check(origin(scheme), egress);
        expect([to, errorDetail]).toEqual([to, expect.stringMatching(GUARDED)]);
      }
    }
    location = (path) => (path === '/' ? { status: 302, to: `/..${canary()}` } : null);
    expect(await check(origin(), egress)).toMatchObject({ status: 'UP', statusCode: 200 });
  });

  test('of a chain that changes scheme and host at every step', async () => {
    const hops = [
      'https://public.attack.test',
      'http://mixed-canary-first.attack.test',
      `https://${PUBLIC_ADDRESS}`,
    ];
    location = (path) => {
      const step = Number(path.slice(1));
      const next = hops[step];
      const to = next === undefined ? `http:${canary()}` : `${next}:${ground.port}/${step + 1}`;
      return { status: 307, to };
    };
    expect((await check(`${origin()}/0`, egress)).errorDetail).toMatch(GUARDED);
    expect(requests).toBe(4);
  });

  test('by a name that is public for the first hop and the canary for the next', async () => {
    ground.dns.zone.set('hop.attack.test', (question) => (question === 1 ? [PUBLIC_ADDRESS] : ['127.0.0.1']));
    location = () => ({ status: 302, to: '/next' });
    expect((await check(`http://hop.attack.test:${ground.port}/`, egress)).errorDetail).toMatch(GUARDED);
    expect(requests).toBe(1);
  });
});

test('headers that redirect only browsers and proxies are ignored', async () => {
  const { respond } = ground;
  ground.respond = (request, response) => {
    response.setHeader('refresh', `0; url=http:${canary()}`);
    response.setHeader('content-location', `http:${canary()}`);
    response.setHeader('alt-svc', `h2="127.0.0.1:${ground.port}"`);
    response.setHeader('link', `<http:${canary()}>; rel=preconnect`);
    respond(request, response);
  };
  expect(await check(origin(), egress)).toMatchObject({ status: 'UP' });
  expect(await check(origin('https'), egress)).toMatchObject({ status: 'UP' });
  ground.respond = respond;
});
