import { describe, expect, test } from '@jest/globals';
import { createEgress } from '@tocsin/egress/create-egress';
import { check, type LocalTarget, useLocalTargets } from './testing/local-targets.ts';
import type { ProbeResult } from './probe.ts';

const targets = useLocalTargets();

/** Resolves every name to this machine. */
const egress = createEgress({
  allowCidrs: ['127.0.0.0/8'],
  lookup: (_name, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]),
});

/** Host, path and Cookie header of each request of a check. */
interface Seen {
  readonly at: string;
  readonly cookie: string | undefined;
}

/** A step in a chain of redirects, with its location and the cookies that it sets. */
interface Step {
  readonly at: string;
  readonly sets: readonly string[];
}

/**
 * Checks the first step. Each step redirects to the next, and the last one responds.
 * @param headers of the monitor
 */
async function follow(
  steps: readonly Step[],
  headers: Record<string, string> | null = null,
): Promise<{ readonly result: ProbeResult; readonly seen: readonly Seen[] }> {
  const seen: Seen[] = [];
  const target: LocalTarget = await targets.http((request, response) => {
    const step = steps[seen.length];
    const next = steps[seen.length + 1];
    const host = request.headers.host?.split(':')[0] ?? '';
    seen.push({ at: `${host}${request.url}`, cookie: request.headers.cookie });
    if (step !== undefined) response.setHeader('set-cookie', step.sets);
    if (next === undefined) response.end('ok');
    else response.writeHead(302, { location: urlOf(next, target) }).end();
  });
  const [first = { at: '', sets: [] }] = steps;
  const result = await check(urlOf(first, target), egress, { headers });
  return { result, seen };
}

function urlOf({ at }: Step, { port }: LocalTarget): string {
  const [host, ...path] = at.split('/');
  return `http://${host}:${port}/${path.join('/')}`;
}

const last = (at: string): Step => ({ at, sets: [] });

describe('a cookie that a redirect sets', () => {
  test.each([
    ['for its host', 'a=1', 'www.shop.test/next', 'a=1'],
    ['for its host alone', 'a=1', 'shop.test/', undefined],
    ['for its domain', 'a=1; Domain=shop.test', 'api.shop.test/', 'a=1'],
    ['that is secure, over http', 'a=1; Secure', 'www.shop.test/next', undefined],
    ['that is none', '=; ;', 'www.shop.test/next', undefined],
  ])('%s', async (_name, cookie, next, sent) => {
    const { result, seen } = await follow([{ at: 'www.shop.test/', sets: [cookie] }, last(next)]);
    expect(result.status).toBe('UP');
    expect(seen).toEqual([
      { at: 'www.shop.test/', cookie: undefined },
      { at: next, cookie: sent },
    ]);
  });

  test('for a public suffix is not kept', async () => {
    const { seen } = await follow([{ at: 'shop.co.uk/', sets: ['a=1; Domain=co.uk'] }, last('other.co.uk/')]);
    expect(seen[1]?.cookie).toBeUndefined();
  });

  test('is replaced or removed by later ones, and returns to its host', async () => {
    const { seen } = await follow([
      { at: 'a.test/1', sets: ['one=1', 'two=1'] },
      { at: 'b.test/2', sets: ['three=1'] },
      { at: 'a.test/3', sets: ['one=2', 'two=; Max-Age=0'] },
      last('a.test/4'),
    ]);
    expect(seen.map(({ cookie }) => cookie)).toEqual([undefined, undefined, 'one=1; two=1', 'one=2']);
  });

  test('comes after a Cookie header of the monitor, which stays within its origin', async () => {
    const { seen } = await follow(
      [{ at: 'a.test/1', sets: ['set=1'] }, last('a.test/2'), { at: 'b.test/3', sets: [] }, last('a.test/4')],
      { cookie: 'own=1' },
    );
    expect(seen.map(({ cookie }) => cookie)).toEqual(['own=1', 'own=1; set=1', undefined, 'set=1']);
  });

  test('is forgotten with the check', async () => {
    const steps = [{ at: 'a.test/1', sets: ['a=1'] }, last('a.test/2')];
    await follow(steps);
    expect((await follow(steps)).seen[0]?.cookie).toBeUndefined();
  });
});

test('a check keeps at most 50 cookies of 4 KiB each', async () => {
  const sets = [`long=${'x'.repeat(4_096)}`, ...Array.from({ length: 200 }, (_, index) => `c${index}=1`)];
  const { result, seen } = await follow([{ at: 'a.test/1', sets }, last('a.test/2')]);
  expect(result.status).toBe('UP');
  const sent = seen[1]?.cookie?.split('; ');
  expect(sent).toHaveLength(50);
  expect(sent?.[0]).toBe('c0=1');
});
