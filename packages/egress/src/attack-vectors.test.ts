import http from 'node:http';
import { describe, expect, test } from '@jest/globals';
import { parseUrl } from '@tocsin/contracts/parse-url';
import { createEgress } from './create-egress.ts';
import { CANARY_ADDRESSES } from './testing/attack-ground.ts';
import { FIXED_VECTORS, vectorsByKind } from './testing/attack-vectors.ts';
import { PUBLIC_ADDRESS } from './testing/attack-vectors/hostile-names.ts';
import type { ZoneEntry } from './testing/dns-server.ts';
import { testOwner } from './testing/test-owner.ts';
import { useAttackGround } from './testing/use-attack-ground.ts';

const GUARDED = /^(address \S+|.+) is .+; allow it with EGRESS_ALLOW_CIDRS$/;
const PRIVATE = ['127.0.0.1', '::1'];
const ROUNDS = 6;

const { ground, egress } = await useAttackGround();

/** Sends a GET through the guard. Returns the outcome of a vector, or the unexpected error. */
async function outcomeOf(url: string, { connectionTo } = egress): Promise<string> {
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

/** Runs the early check of a URL. Returns the outcome in the same terms. */
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

describe('through the guard and by checkUrl', () => {
  test.each(vectorsByKind())('%s: %i vectors', async (_kind, _count, vectors) => {
    const seen = await Promise.all(
      vectors.map(async ({ url }) => ({
        url,
        outcome: await outcomeOf(ground.url(url)),
        verdict: await verdictOn(ground.url(url)),
      })),
    );
    const expected = vectors.map(({ url, outcome }) => ({
      url,
      outcome,
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
      expect(await outcomeOf(url, open)).toBe('public');
      expect([url, ground.canaryConnections, ground.watch.take()]).toEqual([url, 1, [address]]);
      ground.canaryConnections = 0;
    }
  }
});

describe('a name whose addresses change', () => {
  const get = (name: string): Promise<string> => outcomeOf(`http://${name}:${ground.port}/`);

  const first = ['public', ...Array<string>(ROUNDS - 1).fill('blocked')];
  const inTurns = Array.from({ length: ROUNDS / 2 }, () => ['public', 'blocked']).flat();

  test.each<[string, Exclude<ZoneEntry, string>, readonly string[]]>([
    ['once', (question) => (question === 1 ? [PUBLIC_ADDRESS] : PRIVATE), first],
    ['each-time', (question) => (question % 2 === 1 ? [PUBLIC_ADDRESS] : PRIVATE), inTurns],
    ['by-alias', (question) => [`${question === 1 ? 'public' : 'loopback'}.attack.test`], first],
  ])('%s: each connection uses the address that was checked', async (label, entry, expected) => {
    const name = `${label}.attack.test`;
    ground.dns.zone.set(name, entry);
    const seen: string[] = [];
    for (let round = 0; round < ROUNDS; round += 1) seen.push(await get(name));
    expect(seen).toEqual(expected);
    // A second response could differ from the checked one.
    expect(ground.dns.questions(name)).toBe(ROUNDS);
  });

  test('after the early check is refused', async () => {
    ground.dns.zone.set('late.attack.test', (question) => (question === 1 ? [PUBLIC_ADDRESS] : PRIVATE));
    expect(await egress.checkUrl(`http://late.attack.test:${ground.port}/`, 'account')).toBeNull();
    expect(await get('late.attack.test')).toBe('blocked');
  });
});

test('a public address that refuses is not replaced by the private one', async () => {
  // No server listens on that public address. A client that tries the next address reaches the canary.
  const refusing = createEgress({ allowCidrs: ['127.200.0.2'], lookup: ground.dns.lookup });
  ground.dns.zone.set('refusing.attack.test', ['127.200.0.2', ...PRIVATE]);
  expect(await outcomeOf(`http://refusing.attack.test:${ground.port}/`, refusing)).toMatch(/^ECONNREFUSED/);
  expect(ground.watch.take()).toEqual(['127.200.0.2']);
});
