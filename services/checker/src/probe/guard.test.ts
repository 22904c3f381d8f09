import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createEgress } from '@tocsin/egress/create-egress';
import { check, createLocalTargets, type LocalTarget } from '../testing/local-targets.ts';

const targets = createLocalTargets();
let canary: LocalTarget;

beforeEach(async () => {
  canary = await targets.http((_request, response) => response.end('secret'));
});
afterEach(() => targets.closeAll());

const HOSTS = [
  '127.0.0.1',
  '127.1',
  '2130706433',
  '0x7f.1',
  '0177.0.0.1',
  'localhost',
  '[::ffff:127.0.0.1]',
  '0',
];

describe('a blocked target is a result', () => {
  const guarded = createEgress({ allowCidrs: [] });

  test.each(HOSTS)('http://%s', async (host) => {
    const result = await check(`http://${host}:${canary.port}/`, guarded);
    expect(result).toMatchObject({
      status: 'DOWN',
      latencyMs: 0,
      statusCode: null,
      errorReason: 'UNKNOWN_ERROR',
    });
    expect(result.errorDetail).toMatch(/^address .+; allow it with EGRESS_ALLOW_CIDRS$/);
    expect(canary.connections()).toBe(0);
  });

  test('https', async () => {
    const result = await check(`https://127.0.0.1:${canary.port}/`, guarded);
    expect(result.errorDetail).toBe(
      'address 127.0.0.1 is in a loopback range; allow it with EGRESS_ALLOW_CIDRS',
    );
    expect(canary.connections()).toBe(0);
  });
});

describe('each hop of a redirect is guarded', () => {
  // Only the redirecting server's own address is open.
  const guarded = createEgress({ allowCidrs: ['127.0.0.2/32'] });
  const cases = HOSTS.flatMap((host) => [301, 302, 303, 307, 308].map((status) => [status, host] as const));

  test.each(cases)('%d to http://%s', async (status, host) => {
    const target = await targets.http((_request, response) => {
      response.writeHead(status, { location: `http://${host}:${canary.port}/` }).end();
    }, '127.0.0.2');
    const result = await check(target.origin, guarded, { method: 'POST', body: 'x' });
    expect(result).toMatchObject({ status: 'DOWN', statusCode: null, errorReason: 'UNKNOWN_ERROR' });
    expect(result.errorDetail).toContain('allow it with EGRESS_ALLOW_CIDRS');
    expect(target.connections()).toBe(1);
    expect(canary.connections()).toBe(0);
  });

  test('including the fifth', async () => {
    const target = await targets.http((request, response) => {
      const step = Number(request.url?.slice(1));
      const location = step < 4 ? `/${step + 1}` : `http://127.0.0.1:${canary.port}/`;
      response.writeHead(302, { location }).end();
    }, '127.0.0.2');
    expect((await check(`${target.origin}/0`, guarded)).errorDetail).toContain('127.0.0.1');
    expect(target.connections()).toBe(5);
    expect(canary.connections()).toBe(0);
  });

  test('a name that changes to loopback between two hops (DNS rebinding)', async () => {
    const addresses = ['127.0.0.2', '127.0.0.1'];
    const rebinding = createEgress({
      allowCidrs: ['127.0.0.2/32'],
      lookup: (_host, _options, done) => done(null, [{ address: addresses.shift() ?? '', family: 4 }]),
    });
    const target = await targets.http((_request, response) => {
      response.writeHead(302, { location: `http://rebinding.test:${canary.port}/` }).end();
    }, '127.0.0.2');
    const result = await check(`http://rebinding.test:${target.port}/`, rebinding);
    expect(result.errorDetail).toContain('address 127.0.0.1 of rebinding.test is in a loopback range');
    expect(canary.connections()).toBe(0);
  });
});
