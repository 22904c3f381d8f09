import { expect, test } from '@jest/globals';
import { createEgress } from '@tocsin/egress/create-egress';
import { NO_TIMEOUT_MS } from '../testing/local-targets.ts';
import { ProbeThrottledError } from './body-budget.ts';
import { ProbeAbortedError, Prober, type ProbeResult } from './probe.ts';

/** As many lookups as one account may have under way. */
const MAX_LOOKUPS = 55;

test('a check whose name is never looked up has no result, and one whose name server is silent is DOWN', async () => {
  const asked: string[] = [];
  const egress = createEgress({ allowCidrs: [], lookup: (hostname) => asked.push(hostname) });
  const shutdown = new AbortController();
  const prober = new Prober({ egress, signal: shutdown.signal });
  const check = (name: string, account: string, timeoutMs: number): Promise<ProbeResult> => {
    const owner = { account, resource: name };
    const request = { url: `http://${name}/`, method: 'GET', headers: null, body: null } as const;
    return prober.probe({ ...request, timeoutMs, assertions: null, owner });
  };
  const hanging = Array.from({ length: MAX_LOOKUPS }, (_, index) =>
    check(`${index}.test`, 'one', NO_TIMEOUT_MS),
  );
  const waiting = check('waiting.test', 'one', NO_TIMEOUT_MS);
  await expect(check('late.test', 'one', 1)).rejects.toThrow(ProbeThrottledError);
  expect(await check('shop.test', 'two', 1)).toMatchObject({ status: 'DOWN', errorReason: 'TIMEOUT' });
  expect([asked.length, asked.includes('late.test')]).toEqual([MAX_LOOKUPS + 1, false]);
  shutdown.abort();
  const outcomes = await Promise.allSettled([...hanging, waiting]);
  for (const outcome of outcomes)
    expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(ProbeAbortedError) as unknown });
});
