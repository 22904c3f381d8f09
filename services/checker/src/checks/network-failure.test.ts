import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createMonitorSchema } from '@tocsin/contracts/monitors/monitor';
import { phaseMs } from '@tocsin/core/schedule/slots';
import { SecretBox } from '@tocsin/core/secrets/secret-box';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { type DbContext, openDatabase } from '@tocsin/db/database/open';
import { loadCheckTargets, readRevisions } from '@tocsin/db/monitors/check-targets';
import { createMonitor } from '@tocsin/db/monitors/create-monitors';
import { loadCanaries, setCanaries } from '@tocsin/db/regions/canaries';
import { endIsolation, renewIsolation } from '@tocsin/db/regions/isolations';
import { takeTrigger } from '@tocsin/db/triggers/triggers';
import { ensureAccount } from '@tocsin/db/users/users';
import { createTestDatabase } from '@tocsin/embedded/testing/database';
import { until } from '@tocsin/embedded/testing/until';
import { JobReturnedError } from '@tocsin/queue/job-worker';
import type { CheckLock } from '@tocsin/queue/overlap-guard';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { createMetrics } from '@tocsin/runtime/metrics';
import { type CheckerMetrics, createCheckerMetrics } from '../metrics.ts';
import { Prober } from '../probe/probe.ts';
import { Recorder } from '../record/recorder.ts';
import type { NetworkProof } from '../regions/network-proof.ts';
import { TargetCache } from '../targets/target-cache.ts';
import {
  type ConnectionState,
  createLocalTargets,
  type LocalTarget,
  loopbackEgress,
  serveWhileConnected,
} from '../testing/local-targets.ts';
import { testNetworkProof } from '../testing/test-network-proof.ts';
import { CheckCapacity } from './check-capacity.ts';
import { ScheduledChecks } from './scheduled-check.ts';
import { runTriggeredCheck, type TriggeredCheckContext } from './triggered-check.ts';

const REGION = 'default';
const INTERVAL_MS = 60_000;
const checkerId = randomUUID();
const logger = createSilentLogger();
const servers = createLocalTargets();

let database: Awaited<ReturnType<typeof createTestDatabase>>;
let open: ReturnType<typeof openDatabase>;
let context: DbContext;
let accountId: string;
beforeAll(async () => {
  database = await createTestDatabase();
  open = openDatabase({
    url: database.url,
    poolSize: 5,
    applicationName: 'checker test',
    onIdleError: () => undefined,
  });
  context = { db: open.db, secrets: new SecretBox([randomBytes(32)]) };
  accountId = (await ensureAccount(open.db)).id;
});
afterAll(async () => {
  await open.close();
  await database.drop();
});

/** What happens to the connections of this process. A canary whose connections hang keeps the proof waiting. */
let connections: ConnectionState;
/** Whether the checked target itself works. */
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
  await setCanaries(context.db, systemActor(accountId), REGION, [await addMonitor(canary.origin)]);
  checker = startChecker();
});
afterEach(async () => {
  checker.shutdown.abort();
  await checker.proof.close();
  await open.db.execute('truncate monitors, region_isolations, events cascade');
  await servers.closeAll();
});

function serve(works: () => boolean): Promise<LocalTarget> {
  return serveWhileConnected(servers, () => (works() ? connections : 'break'));
}

async function addMonitor(url: string, failureThreshold = 1): Promise<string> {
  const input = createMonitorSchema.parse({ name: 'Shop', url, interval: 60, failureThreshold });
  return (await createMonitor(context, systemActor(accountId), input, REGION)).monitor.id;
}

interface Checker {
  readonly checks: ScheduledChecks;
  readonly triggered: TriggeredCheckContext;
  readonly proof: NetworkProof;
  readonly metrics: CheckerMetrics;
  readonly locks: CheckLock[];
  readonly shutdown: AbortController;
}

/** A checker process. Its overlap guard notes locks. */
function startChecker(concurrency = 100): Checker {
  const { db } = context;
  const shutdown = new AbortController();
  const { signal } = shutdown;
  const prober = new Prober({ egress: loopbackEgress(), signal });
  const metrics = createCheckerMetrics(createMetrics());
  const proof = testNetworkProof({
    prober,
    signal,
    canaryRounds: metrics.canaryRounds,
    loadCanaries: (account, region) => loadCanaries(context, account, region),
    report: {
      renew: (isolation) => renewIsolation(db, { ...isolation, checkerId }),
      end: (isolation) => endIsolation(db, { ...isolation, checkerId }),
    },
  });
  const locks: CheckLock[] = [];
  const checkContext = {
    region: REGION,
    targets: new TargetCache({
      load: (ids) => loadCheckTargets(context, ids),
      readRevisions: (ids) => readRevisions(context.db, ids),
    }),
    capacity: new CheckCapacity({ concurrency }),
    recorder: new Recorder({
      record: (batch) => recordChecks(db, batch),
      ensurePartitions: async () => undefined,
      logger,
      onBatch: () => undefined,
    }),
    networkProof: proof,
    metrics,
    prober,
    announce: () => undefined,
    retry: async () => undefined,
    overlapGuard: {
      acquire: async (lock: CheckLock) => {
        locks.push(lock);
        return async () => undefined;
      },
    },
    logger,
  };
  const triggered = { ...checkContext, takeTrigger: (id: string) => takeTrigger(db, id) };
  return { checks: new ScheduledChecks(checkContext), triggered, proof, metrics, locks, shutdown };
}

/** Runs the check of a slot: 0 is the latest, 1 the one after it. */
function run(index = 0, id = monitorId, { checks }: Checker = checker): Promise<void> {
  const now = Date.now();
  const slot = now - ((now - phaseMs(id, INTERVAL_MS)) % INTERVAL_MS) + index * INTERVAL_MS;
  return checks.run({ monitorId: id, revision: 1 }, `repeat:wave:${slot}`, 60);
}

interface EventRow extends Record<string, unknown> {
  readonly status: string;
  readonly inconclusive: boolean;
}

async function eventsOf(id = monitorId): Promise<string[]> {
  const { rows } = await open.db.execute<EventRow>(
    `select status, inconclusive from events where monitor_id = '${id}' order by timestamp`,
  );
  return rows.map(({ status, inconclusive }) => (inconclusive ? 'inconclusive' : status));
}

async function statusOf(id = monitorId): Promise<string | undefined> {
  const { rows } = await open.db.execute<{ status: string }>(
    `select status from monitors where id = '${id}'`,
  );
  return rows[0]?.status;
}

async function isolationIs(state: 'open' | 'ended'): Promise<void> {
  await until(`the isolation is ${state}`, async () => {
    const { rows } = await open.db.execute<{ ended: boolean }>(
      'select ended_at is not null as ended from region_isolations',
    );
    return rows.length === 1 && rows[0]?.ended === (state === 'ended');
  });
}

async function countOf(name: 'checks' | 'canaryRounds', label: string): Promise<Record<string, number>> {
  const { values } = await checker.metrics[name].get();
  return Object.fromEntries(
    values.map(({ labels, value }) => [(labels as Record<string, string>)[label], value]),
  );
}

test('a target that is down alerts, as a canary responds', async () => {
  await run(0);
  targetWorks = false;
  await run(1);
  // One round for the check, and one for its second probe.
  expect([await eventsOf(), await statusOf(), canary.connections()]).toEqual([['UP', 'DOWN'], 'DOWN', 2]);
  expect(await countOf('checks', 'status')).toEqual({ UP: 1, DOWN: 1 });
});

test('a failure below the threshold is recorded without proof', async () => {
  const id = await addMonitor(`http://127.0.0.1:${await servers.closedPort()}`, 2);
  await run(0, id);
  expect([await eventsOf(id), canary.connections()]).toEqual([['DOWN'], 0]);
  await run(1, id);
  expect([await eventsOf(id), await statusOf(id), canary.connections()]).toEqual([
    ['DOWN', 'DOWN'],
    'DOWN',
    1,
  ]);
});

test('without a network, results are inconclusive until a canary responds; what is down then alerts', async () => {
  await run(0);
  connections = 'break';
  await run(1);
  await run(2);
  expect([await eventsOf(), await statusOf()]).toEqual([['UP', 'inconclusive', 'inconclusive'], 'UP']);
  expect(await countOf('checks', 'status')).toEqual({ UP: 1, INCONCLUSIVE: 2 });
  await isolationIs('open');
  targetWorks = false;
  connections = 'work';
  await isolationIs('ended');
  await run(3);
  expect([(await eventsOf()).at(-1), await statusOf()]).toEqual(['DOWN', 'DOWN']);
});

test('a canary itself alerts while the region is isolated', async () => {
  connections = 'break';
  await run();
  await isolationIs('open');
  const [canaryTarget] = await loadCanaries(context, accountId, REGION);
  const id = canaryTarget?.monitorId ?? '';
  await run(0, id);
  expect([await eventsOf(id), await statusOf(id)]).toEqual([['DOWN'], 'DOWN']);
});

describe('a result that waits for proof', () => {
  /** Starts a check that fails, and whose canary hangs. */
  async function startWaiting(process: Checker = checker): Promise<{ readonly check: Promise<void> }> {
    targetWorks = false;
    connections = 'hang';
    const before = canary.connections();
    const check = run(0, monitorId, process);
    check.catch(() => undefined);
    await until('the canary is probed', () => canary.connections() > before);
    return { check };
  }

  test('is not lost by a shutdown: its job runs again', async () => {
    const { check } = await startWaiting();
    expect(await eventsOf()).toEqual([]);
    checker.shutdown.abort();
    await expect(check).rejects.toThrow(JobReturnedError);
    expect(await eventsOf()).toEqual([]);
    connections = 'work';
    const next = startChecker();
    await run(0, monitorId, next);
    expect([await eventsOf(), await statusOf()]).toEqual([['DOWN'], 'DOWN']);
    await next.proof.close();
  });

  test('takes no permit from another check', async () => {
    const process = startChecker(1);
    const { check } = await startWaiting(process);
    const other = await servers.http((_request, response) => response.end());
    const id = await addMonitor(other.origin);
    await run(0, id, process);
    expect(await eventsOf(id)).toEqual(['UP']);
    process.shutdown.abort();
    await expect(check).rejects.toThrow(JobReturnedError);
    await process.proof.close();
  });

  test('keeps its lock', async () => {
    await open.db.execute('update monitors set timeout_seconds = 30');
    await run();
    expect(checker.locks.map(({ forMs }) => forMs)).toEqual([45_000]);
  });
});

test('a triggered check without a network is inconclusive, but one of another URL counts for nothing anyway', async () => {
  connections = 'break';
  const trigger = async (url: string | null): Promise<void> => {
    const takeTrigger = async () => ({ monitorId, region: REGION, url });
    await runTriggeredCheck({ ...checker.triggered, takeTrigger }, { triggerId: randomUUID() });
  };
  await trigger(canary.origin);
  expect([await eventsOf(), canary.connections()]).toEqual([['DOWN'], 1]);
  await trigger(null);
  expect([await eventsOf(), await statusOf()]).toEqual([['DOWN', 'inconclusive'], 'PENDING']);
});
