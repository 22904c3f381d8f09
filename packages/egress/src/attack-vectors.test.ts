import http from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { parseUrl } from '@tocsin/contracts/parse-url';
import { createEgress, type Egress } from './create-egress.ts';
import { AttackGround, CANARY_ADDRESSES } from './testing/attack-ground.ts';
import { ATTACK_VECTORS, FIXED_VECTORS, halfByKind, vectorsByKind } from './testing/attack-vectors.ts';
import { testOwner } from './testing/test-owner.ts';
import { PUBLIC_ADDRESS } from './testing/attack-vectors/hostile-names.ts';

/** Longer than any test runs, so that no lookup times out on a busy machine. */
const NO_TIMEOUT_MS = 600_000;
const GUARDED = /^(address \S+|.+) is .+; allow it with EGRESS_ALLOW_CIDRS$/;

let ground: AttackGround;
let egress: Egress;
beforeAll(async () => {
  ground = await AttackGround.open();
  egress = createEgress({
    allowCidrs: [PUBLIC_ADDRESS],
    extraCa: ground.ca,
    lookup: ground.dns.lookup,
    checkUrlLookupMs: NO_TIMEOUT_MS,
  });
});
afterAll(() => ground.close());

/** The result of a GET through the guard: a vector's outcome, or what else happened. */
async function outcomeOf(url: string, { connectionTo }: Egress): Promise<string> {
  const parsed = parseUrl(url);
  if (parsed?.protocol !== 'http:' && parsed?.protocol !== 'https:') return 'no URL';
  return new Promise((resolve) => {
    const request = http.get({ createConnection: connectionTo(parsed, testOwner(url)) }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode === 200 ? 'public' : `${response.statusCode}`));
    });
    request.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EGRESS_BLOCKED' && GUARDED.test(error.message)) resolve('blocked');
      else resolve(error.code === 'ENOTFOUND' ? 'unknown name' : `${error.code}: ${error.message}`);
    });
  });
}

/** The result of the early check of a URL, in the same terms. */
async function verdictOn(url: string): Promise<string> {
  const refusal = await egress.checkUrl(url, url);
  if (refusal === null) return 'reachable';
  if (GUARDED.test(refusal)) return 'blocked';
  return refusal === 'not a valid URL' || refusal === 'the scheme must be http or https' ? 'no URL' : refusal;
}

test('the catalogue has at least 300 different vectors', () => {
  const urls = FIXED_VECTORS.map(({ url }) => url);
  expect(urls.length).toBeGreaterThanOrEqual(300);
  expect(urls.filter((url, index) => urls.indexOf(url) !== index)).toEqual([]);
});

test('each half has at least 300 vectors of every class', () => {
  const halves = (['first', 'second'] as const).map((half) => halfByKind(half));
  for (const half of halves) {
    expect(half.map(([kind]) => kind)).toEqual(vectorsByKind().map(([kind]) => kind));
    expect(half.every(([, count]) => count > 0)).toBe(true);
    expect(half.reduce((sum, [, count]) => sum + count, 0)).toBeGreaterThanOrEqual(300);
  }
  const together = halves.flatMap((half) => half.flatMap(([, , vectors]) => vectors));
  expect(new Set(together)).toEqual(new Set(ATTACK_VECTORS));
});

describe('through the guard, over http and https, and by checkUrl', () => {
  afterEach(() => {
    expect(ground.canaryConnections).toBe(0);
    expect(ground.watch.take().filter((ip) => ip !== PUBLIC_ADDRESS)).toEqual([]);
  });

  test.each(vectorsByKind())('%s: %i vectors', async (_kind, _count, vectors) => {
    const seen = await Promise.all(
      vectors.map(async ({ url: text }) => ({
        url: text,
        http: await outcomeOf(ground.url(text), egress),
        https: await outcomeOf(ground.secureUrl(text), egress),
        verdict: await verdictOn(ground.url(text)),
      })),
    );
    const expected = vectors.map(({ url, outcome }) => ({
      url,
      http: outcome,
      https: outcome,
      verdict: outcome === 'public' || outcome === 'unknown name' ? 'reachable' : outcome,
    }));
    expect(seen).toEqual(expected);
  });
});

test('an allowed address gets exactly one connection, which the canary and the watch note', async () => {
  for (const address of CANARY_ADDRESSES) {
    const open = createEgress({ allowCidrs: [address], extraCa: ground.ca });
    const host = address.includes(':') ? `[${address}]` : address;
    for (const url of [`http://${host}:${ground.port}/`, `https://${host}:${ground.port}/`]) {
      ground.canaryConnections = 0;
      expect(await outcomeOf(url, open)).toBe('public');
      expect([url, ground.canaryConnections, ground.watch.take()]).toEqual([url, 1, [address]]);
    }
  }
});
