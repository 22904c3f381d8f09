import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, jest, test } from '@jest/globals';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { createMetrics } from '@tocsin/runtime/metrics';
import { createCheckerMetrics } from '../metrics.ts';
import { Prober } from '../probe/probe.ts';
import { TargetCache } from '../targets/target-cache.ts';
import { loopbackEgress } from '../testing/local-targets.ts';
import { testNetworkProof } from '../testing/test-network-proof.ts';
import { recorderOn } from '../testing/test-recorder.ts';
import { monitor } from '../testing/test-region.ts';
import { CheckCapacity } from './check-capacity.ts';
import { ScheduledChecks } from './scheduled-check.ts';

test('the checks of a large wave start in several turns of the event loop', async () => {
  let started = 0;
  const begin = (): void => void (started += 1);
  const capacity = new CheckCapacity({ concurrency: 200 });
  const permit = { waitedMs: 0, begin, probed: () => undefined, release: () => undefined };
  jest.spyOn(capacity, 'acquire').mockResolvedValue(permit);
  const checks = new ScheduledChecks({
    region: 'eu',
    capacity,
    targets: new TargetCache({
      load: async (ids) => new Map(ids.map((id) => [id, monitor(id, 'http://127.0.0.1:9/')])),
      readRevisions: async () => new Map(),
    }),
    // Its probes end as soon as they begin.
    prober: new Prober({ egress: loopbackEgress(), signal: AbortSignal.abort() }),
    recorder: recorderOn(() => []).recorder,
    networkProof: testNetworkProof(),
    metrics: createCheckerMetrics(createMetrics()),
    announce: () => undefined,
    retry: async () => undefined,
    overlapGuard: { acquire: async () => async () => undefined },
    logger: createSilentLogger(),
  });
  const jobId = `repeat:60s:0:${Date.now()}`;
  const ids = Array.from({ length: 120 }, (_, index) => `monitor-${index}`);
  const outcomes = Promise.allSettled(
    ids.map((monitorId) => checks.run({ monitorId, revision: 1 }, jobId, 60)),
  );
  const byTurn: number[] = [];
  for (let turns = 0; turns < 100; turns += 1) {
    const before = started;
    await nextTurn();
    if (started > before) byTurn.push(started - before);
  }
  await outcomes;
  expect(byTurn).toEqual([50, 50, 20]);
  capacity.close();
});
