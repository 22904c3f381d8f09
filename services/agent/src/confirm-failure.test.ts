import { expect, test } from '@jest/globals';
import type { ProbeResult } from '@tocsin/probe/probe';
import { confirmFailure, needsConfirmation } from './confirm-failure.ts';
import type { Proof } from './link.ts';

const TIMINGS = { dns: null, tcp: null, tls: null, firstByte: null, download: null };

function result(changes: Partial<ProbeResult>): ProbeResult {
  return {
    status: 'DOWN',
    latencyMs: 0,
    statusCode: null,
    errorReason: 'TIMEOUT',
    errorDetail: 'connection timed out after 10 s',
    timings: TIMINGS,
    certificateExpiresAt: null,
    transportFailure: 'connection',
    ownFailure: null,
    response: null,
    ...changes,
  };
}

const failure = result({});
const refusal = result({ errorReason: 'CONNECTION_REFUSED' });
const ownFailure = result({ errorReason: 'UNKNOWN_ERROR', ownFailure: 'EMFILE' });
const noResponse = result({ timings: { ...TIMINGS, tcp: 3 } });
const response = result({ status: 'UP', statusCode: 200, errorReason: null, transportFailure: null });
const brokenBody = result({ statusCode: 200 });

test.each([
  ['a timeout', failure, true],
  ['a failed lookup', result({ errorReason: 'DNS_ERROR', transportFailure: 'lookup' }), true],
  ['a body that breaks off', brokenBody, true],
  ['a refusal', refusal, false],
  ['a failure of this process', ownFailure, false],
  ['a response', response, false],
])('%s needs a proof of the network: %#', (_what, probed, expected) => {
  expect(needsConfirmation(probed)).toBe(expected);
});

/** Each probe takes all its time. */
async function confirm(
  proofs: readonly Proof[],
  again: readonly ProbeResult[] = [],
  { timeoutMs = 5_000, steadyAfterMs = 0, isLost = false } = {},
): Promise<{ readonly counts: boolean; readonly probes: readonly number[] }> {
  let now = 100_000;
  const left = { proofs: [...proofs], again: [...again] };
  const probes: number[] = [];
  const sinces: number[] = [];
  const counts = await confirmFailure({
    startedAt: now - timeoutMs,
    timeoutMs,
    now: () => now,
    link: {
      prove: async (since) => {
        sinces.push(since);
        return left.proofs.shift() ?? 'lost';
      },
      steady: async () => {
        now += steadyAfterMs;
        return isLost ? 'lost' : 'steady';
      },
    },
    probeAgain: async (withinMs) => {
      probes.push(withinMs);
      now += withinMs;
      return left.again.shift() ?? failure;
    },
  });
  expect(sinces[0]).toBe(100_000 - timeoutMs);
  expect(sinces[1] ?? 100_000 + steadyAfterMs).toBe(100_000 + steadyAfterMs);
  return { counts, probes };
}

test.each<[string, Parameters<typeof confirm>, boolean, readonly number[]]>([
  ['counts if the link was unbroken', [['unbroken']], true, []],
  ['does not count if the link was lost', [['lost']], false, []],
  ['counts if a second probe fails with an unbroken link', [['interrupted', 'unbroken']], true, [5_000]],
  ['counts if the target then refuses the connection', [['interrupted'], [refusal]], true, [5_000]],
  ['does not count if the target then responds', [['interrupted'], [response]], false, [5_000]],
  ['does not count if a second probe says nothing', [['interrupted'], [ownFailure]], false, [5_000]],
  ['does not count if the link is lost then', [['interrupted', 'lost']], false, [5_000]],
  ['does not count if the link is lost before', [['interrupted'], [], { isLost: true }], false, []],
  [
    'counts after two interruptions',
    [['interrupted', 'interrupted', 'unbroken'], [], { timeoutMs: 1_000 }],
    true,
    [1_000, 1_000],
  ],
  [
    'does not count if the link is interrupted for long',
    [Array.from({ length: 20 }, () => 'interrupted' as const)],
    false,
    [5_000, 5_000],
  ],
  [
    'counts if a target that needs longer never accepts a connection',
    [['interrupted', 'unbroken'], [failure], { timeoutMs: 60_000, steadyAfterMs: 7_000 }],
    true,
    [3_000],
  ],
  [
    'does not count if a target accepts a connection, but needs longer',
    [['interrupted', 'unbroken'], [noResponse], { timeoutMs: 60_000 }],
    false,
    [5_000],
  ],
  [
    'counts if a target accepts a connection, but does not respond in its own time',
    [['interrupted', 'unbroken'], [noResponse]],
    true,
    [5_000],
  ],
])('a failure %s', async (_what, given, counts, probes) => {
  expect(await confirm(...given)).toEqual({ counts, probes });
});
