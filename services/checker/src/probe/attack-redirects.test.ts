import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createEgress, type Egress } from '@tocsin/egress/create-egress';
import { AttackGround } from '@tocsin/egress/testing/attack-ground';
import { ATTACK_VECTORS, vectorsByKind } from '@tocsin/egress/testing/attack-vectors';
import { PUBLIC_ADDRESS } from '@tocsin/egress/testing/attack-vectors/hostile-names';
import { check } from '../testing/local-targets.ts';

const STATUSES = [301, 302, 303, 307, 308];
const GUARDED = /; allow it with EGRESS_ALLOW_CIDRS$/;

let ground: AttackGround;
let egress: Egress;
/** Where the public server redirects each path; null: it responds with 200. */
let location: (path: string) => { status: number; to: string } | null;
let requests = 0;
beforeAll(async () => {
  ground = await AttackGround.open();
  egress = createEgress({ allowCidrs: [PUBLIC_ADDRESS], extraCa: ground.ca, lookup: ground.dns.lookup });
  ground.respond = (request, response) => {
    requests += 1;
    request.resume();
    const next = location(request.url ?? '/');
    // A header is bytes: what is not ASCII goes as UTF-8.
    const headers = next === null ? {} : { location: Buffer.from(next.to).toString('latin1') };
    response.writeHead(next?.status ?? 200, { ...headers, connection: 'close' }).end();
  };
});
afterAll(() => ground.close());
beforeEach(() => {
  requests = 0;
});
afterEach(() => {
  expect(ground.canaryConnections).toBe(0);
  expect(ground.watch.take().filter((ip) => ip !== PUBLIC_ADDRESS)).toEqual([]);
});

/** The vectors that fit into a header line, each with a status and a scheme in turn, so that every class sees them all. */
const REDIRECTS = ATTACK_VECTORS.filter(({ url }) => !/[^\P{Cc}\t]/u.test(url)).map((vector, index) => ({
  ...vector,
  status: STATUSES[index % STATUSES.length] ?? 302,
  scheme: index % 2 === 0 ? 'http' : 'https',
  path: `/${index}`,
}));

const origin = (scheme = 'http'): string => `${scheme}://public.attack.test:${ground.port}`;

describe(`a redirect to each of ${REDIRECTS.length} vectors`, () => {
  beforeAll(() => {
    const byPath = new Map(REDIRECTS.map(({ path, status, url }) => [path, { status, to: url }]));
    location = (path) => {
      const next = byPath.get(path);
      return next === undefined ? null : { status: next.status, to: ground.url(next.to) };
    };
  });

  test.each(vectorsByKind())('%s: %i vectors', async (kind) => {
    const vectors = REDIRECTS.filter((vector) => vector.kind === kind);
    const results = await Promise.all(
      vectors.map(({ path, scheme }) =>
        check(`${origin(scheme)}${path}`, egress, { method: 'POST', body: 'x' }),
      ),
    );
    expect(requests).toBeGreaterThanOrEqual(vectors.length);
    const passed = vectors.filter(({ outcome, url }, index) => {
      // Without two slashes after the scheme it is a path on the server that redirects.
      if (outcome !== 'blocked' || !/^http:[/\\]{2}/i.test(url)) return false;
      return !GUARDED.test(results[index]?.errorDetail ?? '') || results[index]?.status !== 'DOWN';
    });
    expect(passed).toEqual([]);
  });
});

describe('indirect redirects', () => {
  const canary = (path = '/'): string => `//127.0.0.1:${ground.port}${path}`;

  test.each(STATUSES)('%d to another scheme of the canary', async (status) => {
    for (const scheme of ['http', 'https', 'HTTP']) {
      location = () => ({ status, to: `${scheme}:${canary()}` });
      expect((await check(origin(), egress)).errorDetail).toMatch(GUARDED);
      expect((await check(origin('https'), egress)).errorDetail).toMatch(GUARDED);
    }
  });

  test.each(STATUSES)('%d without a scheme, and over a path', async (status) => {
    for (const to of [canary(), `\\\\127.0.0.1:${ground.port}/`, `/\\127.0.0.1:${ground.port}/`]) {
      location = () => ({ status, to });
      expect((await check(origin(), egress)).errorDetail).toMatch(GUARDED);
    }
    location = (path) => (path === '/' ? { status, to: `/..${canary()}` } : null);
    expect(await check(origin(), egress)).toMatchObject({ status: 'UP', statusCode: 200 });
  });

  test.each([
    'file:///etc/passwd',
    'gopher://127.0.0.1:6379/_x',
    'ftp://127.0.0.1/',
    'data:text/plain,x',
    'ws://127.0.0.1/',
  ])('to %s', async (to) => {
    for (const status of STATUSES) {
      location = () => ({ status, to });
      expect(await check(origin(), egress)).toMatchObject({
        status: 'DOWN',
        errorReason: 'UNKNOWN_ERROR',
        errorDetail: `redirect to “${to}” leaves http and https`,
      });
    }
    expect(requests).toBe(STATUSES.length);
  });

  test.each([1, 2, 3, 4, 5])('a chain of %i that ends at the canary', async (length) => {
    location = (path) => {
      const step = Number(path.slice(1)) + 1;
      return { status: 302, to: step < length ? `/${step}` : `http:${canary()}` };
    };
    expect((await check(`${origin()}/0`, egress)).errorDetail).toMatch(GUARDED);
    expect(requests).toBe(length);
  });

  test('a chain that changes scheme and host at every step', async () => {
    const hops = [
      'https://public.attack.test',
      'http://mixed-canary-first.attack.test',
      `https://${PUBLIC_ADDRESS}`,
    ];
    location = (path) => {
      const step = Number(path.slice(1));
      const next = hops[step];
      return {
        status: 307,
        to: next === undefined ? `http:${canary()}` : `${next}:${ground.port}/${step + 1}`,
      };
    };
    expect((await check(`${origin()}/0`, egress)).errorDetail).toMatch(GUARDED);
    expect(requests).toBe(4);
  });

  test('a loop ends after five redirects', async () => {
    location = (path) => ({ status: 302, to: path === '/a' ? '/b' : '/a' });
    const result = await check(`${origin()}/a`, egress);
    expect(result).toMatchObject({ status: 'DOWN', errorDetail: 'more than 5 redirects' });
    expect(requests).toBe(6);
  });

  test('a name that is public for the first hop and the canary for the next', async () => {
    ground.dns.zone.set('hop.attack.test', (question) =>
      question === 1 ? [PUBLIC_ADDRESS] : ['127.0.0.1', '::1'],
    );
    location = () => ({ status: 302, to: '/next' });
    expect((await check(`http://hop.attack.test:${ground.port}/`, egress)).errorDetail).toMatch(GUARDED);
    expect(requests).toBe(1);
  });

  test('headers that redirect only browsers and proxies are ignored', async () => {
    location = () => null;
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
});
