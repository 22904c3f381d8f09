import { createSilentLogger } from '@tocsin/runtime/logger';
import { createMetrics } from '@tocsin/runtime/metrics';
import { createCheckerMetrics } from '../metrics.ts';
import { Prober } from '@tocsin/probe/probe';
import { NetworkProof, type NetworkProofOptions } from '../regions/network-proof.ts';
import { loopbackEgress } from '@tocsin/probe/testing/local-targets';

/** Makes a proof for accounts without canaries, and without Postgres, unless `changes` differ. */
export function testNetworkProof(changes: Partial<NetworkProofOptions> = {}): NetworkProof {
  return new NetworkProof({
    prober: new Prober({ egress: loopbackEgress() }),
    canaryRounds: createCheckerMetrics(createMetrics()).canaryRounds,
    loadCanaries: async () => [],
    report: { renew: async () => undefined, end: async () => undefined },
    logger: createSilentLogger(),
    signal: new AbortController().signal,
    ...changes,
  });
}
