import { expect, test } from '@jest/globals';
import { createEgress } from '@tocsin/egress/create-egress';
import { until } from '@tocsin/embedded/testing/until';
import { NO_TIMEOUT_MS, useLocalTargets } from '../testing/local-targets.ts';
import { BodyBudget, ProbeThrottledError } from './body-budget.ts';
import { Prober, type ProbeResult } from './probe.ts';

const KIB = 1024;
const egress = createEgress({ allowCidrs: ['127.0.0.0/8'] });
const targets = useLocalTargets();

test('an account may use as much as it leaves to the others', () => {
  const budget = new BodyBudget(1_000);
  const first = budget.open('one');
  const second = budget.open('one');
  expect([first.resize(300), first.resize(500), second.resize(1)]).toEqual([true, true, false]);
  const other = budget.open('two');
  expect([other.resize(250), other.resize(251), other.isRefused]).toEqual([true, false, true]);
  expect(budget.used).toBe(750);
  first.release();
  other.release();
  expect([budget.used, second.isRefused, budget.open('one').resize(400)]).toEqual([0, true, true]);
});

/** Sends this many bytes of a body, and ends it when the test calls `end`. */
async function startTarget(bytes: number): Promise<{ url: string; end: () => void }> {
  const ends: (() => void)[] = [];
  const { origin } = await targets.http((_, response) => {
    response.write('x'.repeat(bytes));
    ends.push(() => response.end());
  });
  return { url: origin, end: () => ends.forEach((end) => end()) };
}

function check(url: string, account: string, bodies: BodyBudget): Promise<ProbeResult> {
  const target = {
    url,
    method: 'GET',
    headers: null,
    body: null,
    timeoutMs: NO_TIMEOUT_MS,
    assertions: { bodyContains: 'x' },
    owner: { account, resource: url },
  } as const;
  return new Prober({ egress, bodies }).probe(target);
}

test('a body without free memory gives no result, and other accounts and later checks are not affected', async () => {
  const budget = new BodyBudget(256 * KIB);
  const slow = await startTarget(100 * KIB);
  const hanging = check(slow.url, 'one', budget);
  await until('the body that hangs', () => budget.used >= 100 * KIB);
  const refused = await startTarget(64 * KIB);
  await expect(check(refused.url, 'one', budget)).rejects.toThrow(ProbeThrottledError);
  const small = await targets.http((_, response) => response.end('x'));
  expect((await check(small.origin, 'two', budget)).status).toBe('UP');
  slow.end();
  expect((await hanging).status).toBe('UP');
  expect(budget.used).toBe(0);
  expect((await check(small.origin, 'one', budget)).status).toBe('UP');
});
