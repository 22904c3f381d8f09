import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createMonitorSchema } from '@tocsin/contracts/monitors/monitor';
import { extraCheckJobId } from '@tocsin/core/schedule/slots';
import { SecretBox } from '@tocsin/core/secrets/secret-box';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { openDatabase } from '@tocsin/db/database/open';
import type { DbContext } from '@tocsin/db/database/open';
import { loadCheckTargets, readRevisions } from '@tocsin/db/monitors/check-targets';
import { createMonitor } from '@tocsin/db/monitors/create-monitors';
import { findMonitorRow } from '@tocsin/db/monitors/monitor-row';
import { createTrigger, takeTrigger } from '@tocsin/db/triggers/triggers';
import { ensureAccount } from '@tocsin/db/users/users';
import { createEgress } from '@tocsin/egress/create-egress';
import { AttackGround } from '@tocsin/egress/testing/attack-ground';
import { halfByKind } from '@tocsin/egress/testing/attack-vectors';
import type { AttackVector, Outcome } from '@tocsin/egress/testing/attack-vectors/attack-vector';
import { PUBLIC_ADDRESS } from '@tocsin/egress/testing/attack-vectors/hostile-names';
import { createTestDatabase } from '@tocsin/embedded/testing/database';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { createMetrics } from '@tocsin/runtime/metrics';
import { createCheckerMetrics } from '../metrics.ts';
import { Prober } from '../probe/probe.ts';
import { Recorder } from '../record/recorder.ts';
import { TargetCache } from '../targets/target-cache.ts';
import { testNetworkProof } from '../testing/test-network-proof.ts';
import { CheckCapacity } from './check-capacity.ts';
import { ScheduledChecks } from './scheduled-check.ts';
import { runTriggeredCheck } from './triggered-check.ts';

const logger = createSilentLogger();

let ground: AttackGround;
let database: Awaited<ReturnType<typeof createTestDatabase>>;
let open: ReturnType<typeof openDatabase>;
let context: DbContext;
let accountId: string;
let checks: ScheduledChecks;
let triggered: (triggerId: string) => Promise<void>;
beforeAll(async () => {
  ground = await AttackGround.open();
  database = await createTestDatabase();
  open = openDatabase({
    url: database.url,
    poolSize: 5,
    applicationName: 'checker test',
    onIdleError: () => undefined,
  });
  const { db } = open;
  context = { db, secrets: new SecretBox([randomBytes(32)]) };
  accountId = (await ensureAccount(db)).id;
  const checker = {
    region: 'default',
    capacity: new CheckCapacity({ concurrency: 1_000 }),
    targets: new TargetCache({
      load: (ids) => loadCheckTargets(context, ids),
      readRevisions: (ids) => readRevisions(context.db, ids),
    }),
    recorder: new Recorder({
      record: (batch) => recordChecks(db, batch),
      ensurePartitions: async () => undefined,
      logger,
      onBatch: () => undefined,
    }),
    networkProof: testNetworkProof(),
    metrics: createCheckerMetrics(createMetrics()),
    prober: new Prober({
      egress: createEgress({ allowCidrs: [PUBLIC_ADDRESS], extraCa: ground.ca, lookup: ground.dns.lookup }),
    }),
    announce: () => undefined,
    retry: async () => undefined,
    overlapGuard: { acquire: async () => async () => undefined },
    logger,
    takeTrigger: (id: string) => takeTrigger(db, id),
  };
  checks = new ScheduledChecks(checker);
  triggered = async (triggerId) => void (await runTriggeredCheck(checker, { triggerId }));
});
afterAll(async () => {
  await open.close();
  await database.drop();
  await ground.close();
});
afterEach(() => {
  expect(ground.canaryConnections).toBe(0);
  expect(ground.watch.take().filter((ip) => ip !== PUBLIC_ADDRESS)).toEqual([]);
});

/** A monitor of any URL, as an older version with laxer rules may have left it behind. */
async function monitorOf(url: string): Promise<string> {
  const input = createMonitorSchema.parse({
    name: 'Attack',
    url: 'https://public.attack.test/',
    timeout: 60,
  });
  return (await createMonitor(context, systemActor(accountId), { ...input, url }, 'default')).monitor.id;
}

interface EventText {
  readonly status: string;
  readonly error_reason: string | null;
  readonly error_detail: string | null;
  /** Null unless a trigger overrode the monitor's. */
  readonly url: string | null;
}

/** The outcomes of the events of a monitor, in the order of the checks. */
async function eventsOf(
  monitorId: string,
): Promise<[outcome: Outcome | undefined, override: string | null][]> {
  const { rows } = await open.pool.query<EventText>(
    'select status, error_reason, error_detail, url from events where monitor_id = $1 order by timestamp',
    [monitorId],
  );
  return rows.map((row) => [outcomeOf(row), row.url]);
}

/** In the words of the catalogue; undefined for what must not happen. */
function outcomeOf({ status, error_reason: reason, error_detail: detail }: EventText): Outcome | undefined {
  if (status === 'UP') return 'public';
  if (reason === 'DNS_ERROR') return 'unknown name';
  if (reason !== 'UNKNOWN_ERROR') return undefined;
  if (detail?.endsWith('; allow it with EGRESS_ALLOW_CIDRS')) return 'blocked';
  return detail === 'target is not a valid http or https URL' ? 'no URL' : undefined;
}

/** Postgres takes no NUL: no row can hold such a URL. */
const storable = ({ url }: AttackVector): boolean => !url.includes('\0');

describe('a scheduled check of half the vectors, and a trigger with the other half', () => {
  const overriding = new Map(
    halfByKind('second').map(([kind, , vectors]) => [kind, vectors.filter(storable)]),
  );

  test.each(halfByKind('first'))('%s: %i vectors', async (kind, _count, half) => {
    const vectors = half.filter(storable);
    const overrides = overriding.get(kind) ?? [];
    const seen = await Promise.all(
      vectors.map(async ({ url }, index) => {
        const monitorId = await monitorOf(ground.url(url));
        await checks.run({ monitorId, revision: 1 }, extraCheckJobId('first', monitorId, Date.now()), null);
        const override = overrides[index];
        if (override !== undefined) {
          const row = await findMonitorRow(context.db, accountId, monitorId);
          await triggered((await createTrigger(context.db, row, ground.url(override.url), 600_000)).id);
        }
        return [url, ...(await eventsOf(monitorId))];
      }),
    );
    const expected = vectors.map(({ url, outcome }, index) => {
      const override = overrides[index];
      const scheduled = [url, [outcome, null]];
      if (override === undefined) return scheduled;
      return [...scheduled, [override.outcome, ground.url(override.url).toWellFormed()]];
    });
    expect(seen).toEqual(expected);
    expect(vectors.length).toBeGreaterThanOrEqual(overrides.length);
  });
});
