import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeEach, expect, test } from '@jest/globals';
import { slotOffsetMs } from '@tocsin/core/schedule/slots';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { loadCanaries, setCanaries } from '@tocsin/db/regions/canaries';
import { endIsolation, renewIsolation } from '@tocsin/db/regions/isolations';
import { until } from '@tocsin/embedded/testing/until';
import { JobReturnedError } from '@tocsin/queue/job-worker';
import { createMetrics } from '@tocsin/runtime/metrics';
import { createCheckerMetrics } from '../metrics.ts';
import { Prober } from '@tocsin/probe/probe';
import {
  type ConnectionState,
  createLocalTargets,
  failingEgress,
  type LocalTarget,
  loopbackEgress,
  serveWhileConnected,
} from '@tocsin/probe/testing/local-targets';
import { checkContext, openCheckerDatabase, REGION } from '../testing/test-checker.ts';
import { testNetworkProof } from '../testing/test-network-proof.ts';
import { CheckCapacity } from './check-capacity.ts';
import { ScheduledChecks } from './scheduled-check.ts';
import { runTriggeredCheck } from './triggered-check.ts';

const INTERVAL_MS = 60_000;
const checkerId = randomUUID();
const servers = createLocalTargets();

const database = await openCheckerDatabase();
afterAll(() => database.close());

/** State of this process's connections. If a canary's connections hang, the proof waits. */
let connections: ConnectionState;
/** True if the checked target itself works. */
let targetWorks: boolean;
let canary: LocalTarget;
let monitorId: string;
let checker: Checker;
beforeEach(async () => {
  connections = 'work';
  targetWorks = true;
  canary = await serve(() => true);
  const target = await serve(() => targetWorks);
  monitorId = await addMonitor(target.origin);
  const canaryId = await addMonitor(canary.origin);
  await setCanaries(database.db, systemActor(database.accountId), REGION, [canaryId]);
  checker = startChecker();
});
afterEach(async () => {
  checker.shutdown.abort();
  await checker.close();
  await database.query('truncate monitors, region_isolations, events cascade');
  await servers.closeAll();
});

const addMonitor = (url: string, failureThreshold = 1): Promise<string> =>
  database.addMonitor({ url, failureThreshold });

function serve(works: () => boolean): Promise<LocalTarget> {
  return serveWhileConnected(servers, () => (works() ? connections : 'break'));
}

type Checker = ReturnType<typeof startChecker>;

function startChecker(concurrency = 100) {
  const shutdown = new AbortController();
  const { signal } = shutdown;
  const prober = new Prober({ egress: loopbackEgress(), signal });
  const metrics = createCheckerMetrics(createMetrics());
  const networkProof = testNetworkProof({
    prober,
    signal,
    canaryRounds: metrics.canaryRounds,
    loadCanaries: (account, region) => loadCanaries(database, account, region),
    report: {
      renew: (isolation) => renewIsolation(database.db, { ...isolation, checkerId }),
      end: (isolation) => endIsolation(database.db, { ...isolation, checkerId }),
    },
  });
  const context = checkContext(database, {
    capacity: new CheckCapacity({ concurrency }),
    networkProof,
    metrics,
    prober,
  });
  const checks = new ScheduledChecks(context);
  return { context, checks, metrics, shutdown, close: () => networkProof.close() };
}

/** Runs the check of a slot, counted from 0 for the latest to 1 for the one after it. */
function run(index = 0, id = monitorId, { checks }: Checker = checker): Promise<void> {
  const now = Date.now();
  const slot = now - ((now - slotOffsetMs(id, INTERVAL_MS)) % INTERVAL_MS) + index * INTERVAL_MS;
  return checks.run({ monitorId: id, revision: 1 }, `repeat:wave:${slot}`, 60);
}

async function eventsOf(id = monitorId): Promise<string[]> {
  const rows = await database.query<{ status: string; inconclusive: boolean }>(
    `select status, inconclusive from events where monitor_id = '${id}' order by timestamp`,
  );
  return rows.map(({ status, inconclusive }) => (inconclusive ? 'inconclusive' : status));
}

async function statusOf(id = monitorId): Promise<string | undefined> {
  const [row] = await database.query<{ status: string }>(`select status from monitors where id = '${id}'`);
  return row?.status;
}

async function isolationIsReported(): Promise<void> {
  await until('the report of the isolation', async () => {
    const rows = await database.query('select from region_isolations where ended_at is null');
    return rows.length === 1;
  });
}

async function checksByStatus(): Promise<Record<string, number>> {
  const { values } = await checker.metrics.checks.get();
  return Object.fromEntries(values.map(({ labels, value }) => [labels.status, value]));
}

test('each failure is proven by a canary before it counts, and the second one alerts', async () => {
  const id = await addMonitor(`http://127.0.0.1:${await servers.closedPort()}`, 2);
  await run(0, id);
  expect([await eventsOf(id), canary.connections()]).toEqual([['DOWN'], 1]);
  await run(1, id);
  expect([await eventsOf(id), await statusOf(id), canary.connections()]).toEqual([
    ['DOWN', 'DOWN'],
    'DOWN',
    2,
  ]);
  expect(await checksByStatus()).toEqual({ DOWN: 2 });
});

test('without a network, results are inconclusive, and the isolation is reported', async () => {
  await run(0);
  connections = 'break';
  await run(1);
  await run(2);
  expect([await eventsOf(), await statusOf()]).toEqual([['UP', 'inconclusive', 'inconclusive'], 'UP']);
  expect(await checksByStatus()).toEqual({ UP: 1, INCONCLUSIVE: 2 });
  await isolationIsReported();
});

test('a target that responds only when it is probed again is DOWN after its second check, whichever checker runs it', async () => {
  let probes = 0;
  const cold = await serve(() => (probes += 1) % 2 === 0);
  const id = await addMonitor(cold.origin);
  await run(0, id);
  expect([await eventsOf(id), await statusOf(id)]).toEqual([['inconclusive'], 'PENDING']);
  const other = startChecker();
  await run(1, id, other);
  expect([await eventsOf(id), await statusOf(id)]).toEqual([['inconclusive', 'DOWN'], 'DOWN']);
  await other.close();
});

test('a result that waits for proof takes no permit from another check, and returns its job at shutdown', async () => {
  const process = startChecker(1);
  targetWorks = false;
  connections = 'hang';
  const check = run(0, monitorId, process);
  check.catch(() => undefined);
  await until('the canary is probed', () => canary.connections() === 1);
  const other = await servers.http((_request, response) => response.end());
  const id = await addMonitor(other.origin);
  await run(0, id, process);
  expect(await eventsOf(id)).toEqual(['UP']);
  process.shutdown.abort();
  await expect(check).rejects.toThrow(JobReturnedError);
  expect(await eventsOf()).toEqual([]);
  await process.close();
});

test('without a file descriptor, checks are inconclusive, counted, and not retried', async () => {
  const error = Object.assign(new Error('connect EMFILE'), { code: 'EMFILE' });
  const retried: string[] = [];
  const retry = async (target: { readonly monitorId: string }): Promise<void> =>
    void retried.push(target.monitorId);
  const context = { ...checker.context, prober: new Prober({ egress: failingEgress(error) }), retry };
  const id = await addMonitor('http://shop.example/');
  await run(0, id, { ...checker, checks: new ScheduledChecks(context) });
  const takeTrigger = async () => ({ monitorId: id, region: REGION, url: null });
  await runTriggeredCheck({ ...context, takeTrigger }, { triggerId: randomUUID() });
  expect([await eventsOf(id), await statusOf(id)]).toEqual([['inconclusive', 'inconclusive'], 'PENDING']);
  expect(retried).toEqual([]);
  const { values } = await checker.metrics.ownFailures.get();
  expect(values.find(({ labels }) => labels.reason === 'EMFILE')?.value).toBe(2);
});

test('a triggered check without a network is inconclusive, but one of another URL never counts', async () => {
  connections = 'break';
  const trigger = async (url: string | null): Promise<void> => {
    const takeTrigger = async () => ({ monitorId, region: REGION, url });
    await runTriggeredCheck({ ...checker.context, takeTrigger }, { triggerId: randomUUID() });
  };
  await trigger(canary.origin);
  expect([await eventsOf(), canary.connections()]).toEqual([['DOWN'], 1]);
  await trigger(null);
  expect([await eventsOf(), await statusOf()]).toEqual([['DOWN', 'inconclusive'], 'PENDING']);
});
