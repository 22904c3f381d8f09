import { expect, jest, test } from '@jest/globals';
import { until } from '@tocsin/embedded/testing/until';
import { FairShares } from '@tocsin/runtime/fair-shares';
import {
  check,
  holdProbeClock,
  loopbackEgress,
  NO_TIMEOUT_MS,
  useLocalTargets,
} from './testing/local-targets.ts';
import { Prober, ProbeThrottledError, type ProbeResult } from './probe.ts';

const TIMEOUT_MS = 1_000;
const LARGE = 'x'.repeat(100 * 1024);
const egress = loopbackEgress();
const targets = useLocalTargets();

function read(
  url: string,
  account: string,
  largeBodies: FairShares,
  timeoutMs: number,
): Promise<ProbeResult> {
  const changes = { timeoutMs, assertions: { bodyContains: 'x' }, owner: { account, resource: url } };
  return check(url, egress, changes, new Prober({ egress, largeBodies }));
}

test('a large body that hangs makes room for one of another account, and its check has no result', async () => {
  const bodies = new FairShares(1, { graceMs: 1 });
  const hangs = await targets.http((_, response) => response.write(LARGE));
  const hanging = read(hangs.origin, 'one', bodies, NO_TIMEOUT_MS);
  const rejected = expect(hanging).rejects.toThrow(ProbeThrottledError);
  await until('the body that hangs', () => bodies.used === 1);
  const large = await targets.http((_, response) => response.end(LARGE));
  expect((await read(large.origin, 'two', bodies, NO_TIMEOUT_MS)).status).toBe('UP');
  await rejected;
  expect(bodies.used).toBe(0);
  expect((await read(large.origin, 'one', bodies, NO_TIMEOUT_MS)).status).toBe('UP');
});

test('a large body that waits for memory until its timeout has no result, and a small one does not wait', async () => {
  const bodies = new FairShares(0);
  const small = await targets.http((_, response) => response.end('x'));
  expect((await read(small.origin, 'one', bodies, NO_TIMEOUT_MS)).status).toBe('UP');
  holdProbeClock();
  const large = await targets.http((_, response) => response.end(LARGE));
  const waiting = expect(read(large.origin, 'one', bodies, TIMEOUT_MS)).rejects.toThrow(ProbeThrottledError);
  await until('the body waits', () => bodies.waiting === 1);
  jest.advanceTimersByTime(TIMEOUT_MS);
  await waiting;
});
