import http from 'node:http';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { createEgress, type Egress } from './create-egress.ts';
import { AttackGround } from './testing/attack-ground.ts';
import { PUBLIC_ADDRESS } from './testing/attack-vectors/hostile-names.ts';
import type { ZoneEntry } from './testing/dns-server.ts';
import { testOwner } from './testing/test-owner.ts';

const NAME = 'rebinding.attack.test';
const PRIVATE = ['127.0.0.1', '::1'];
const ROUNDS = 12;
/** Longer than any test runs, so that no lookup times out on a busy machine. */
const NO_TIMEOUT_MS = 600_000;

let ground: AttackGround;
let egress: Egress;
beforeAll(async () => {
  ground = await AttackGround.open();
  egress = createEgress({
    allowCidrs: [PUBLIC_ADDRESS],
    lookup: ground.dns.lookup,
    checkUrlLookupMs: NO_TIMEOUT_MS,
  });
});
afterAll(() => ground.close());
afterEach(() => {
  expect(ground.canaryConnections).toBe(0);
  expect(ground.watch.take().filter((ip) => ip !== PUBLIC_ADDRESS)).toEqual([]);
});

/** 200 if the public server responded, otherwise the code of the error. */
function get(host: string): Promise<number | string | undefined> {
  return new Promise((resolve) => {
    const request = http.get(
      {
        createConnection: egress.connectionTo(new URL(`http://${host}:${ground.port}/`), testOwner(host)),
      },
      (response) => {
        response.resume();
        resolve(response.statusCode);
      },
    );
    request.on('error', (error: NodeJS.ErrnoException) => resolve(error.code));
  });
}

/** The results of requests, one after another, while the addresses of the name change. */
async function rounds(name: string, entry: ZoneEntry): Promise<(number | string | undefined)[]> {
  ground.dns.zone.set(name, entry);
  const seen: (number | string | undefined)[] = [];
  for (let round = 0; round < ROUNDS; round += 1) seen.push(await get(name));
  return seen;
}

test('public first, private from the second query on', async () => {
  const seen = await rounds(NAME, (question) => (question === 1 ? [PUBLIC_ADDRESS] : PRIVATE));
  expect(seen).toEqual([200, ...Array.from({ length: ROUNDS - 1 }, () => 'EGRESS_BLOCKED')]);
});

test('alternating: each connection uses the address that was checked', async () => {
  const seen = await rounds('turns.attack.test', (question) =>
    question % 2 === 1 ? [PUBLIC_ADDRESS] : PRIVATE,
  );
  expect(seen).toEqual(Array.from({ length: ROUNDS / 2 }, () => [200, 'EGRESS_BLOCKED']).flat());
});

test('each connection sends one query, so there is no second response to exploit', async () => {
  const before = ground.dns.questions('public.attack.test');
  for (let round = 0; round < ROUNDS; round += 1) expect(await get('public.attack.test')).toBe(200);
  expect(ground.dns.questions('public.attack.test') - before).toBe(ROUNDS);
});

test('an alias that changes to a private name', async () => {
  const seen = await rounds('alias-turns.attack.test', (question) =>
    question === 1 ? ['public.attack.test'] : ['loopback.attack.test'],
  );
  expect(seen).toEqual([200, ...Array.from({ length: ROUNDS - 1 }, () => 'EGRESS_BLOCKED')]);
});

test('a name that was reachable and then becomes private is refused', async () => {
  ground.dns.zone.set('changing.attack.test', (question) => (question === 1 ? [PUBLIC_ADDRESS] : PRIVATE));
  expect(await egress.checkUrl(`http://changing.attack.test:${ground.port}/`, 'account')).toBeNull();
  expect(await get('changing.attack.test')).toBe('EGRESS_BLOCKED');
});

test('a public address that refuses is not replaced by the private one', async () => {
  // No server listens on that public address. A client that tries the next address reaches the canary.
  const egressOfTwo = createEgress({ allowCidrs: ['127.200.0.2'], lookup: ground.dns.lookup });
  ground.dns.zone.set('refusing.attack.test', ['127.200.0.2', '127.0.0.1', '::1']);
  const code = await new Promise((resolve) => {
    const url = new URL(`http://refusing.attack.test:${ground.port}/`);
    http
      .get({ createConnection: egressOfTwo.connectionTo(url, testOwner('test')) })
      .on('error', (error: NodeJS.ErrnoException) => resolve(error.code));
  });
  expect(code).toBe('ECONNREFUSED');
  expect(ground.watch.take()).toEqual(['127.200.0.2']);
});
