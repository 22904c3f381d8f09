import { randomBytes } from 'node:crypto';
import { createMonitorSchema } from '@tocsin/contracts/monitors/monitor';
import { SecretBox } from '@tocsin/core/secrets/secret-box';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { type DbContext, openDatabase } from '@tocsin/db/database/open';
import { loadCheckTargets, readRevisions } from '@tocsin/db/monitors/check-targets';
import { createMonitor } from '@tocsin/db/monitors/create-monitors';
import { ensureFirstAccount } from '@tocsin/db/accounts/accounts';
import { createTestDatabase } from '@tocsin/embedded/testing/database';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { createMetrics } from '@tocsin/runtime/metrics';
import { CheckCapacity } from '../checks/check-capacity.ts';
import type { ScheduledCheckContext } from '../checks/scheduled-check.ts';
import { createCheckerMetrics } from '../metrics.ts';
import { Prober } from '@tocsin/probe/probe';
import { Recorder, type RecorderOptions } from '../record/recorder.ts';
import { TargetCache, type TargetSource } from '../targets/target-cache.ts';
import { loopbackEgress } from '@tocsin/probe/testing/local-targets';
import { testNetworkProof } from './test-network-proof.ts';

export const REGION = 'default';

/** Database for one test file, with one account. */
export interface CheckerDatabase extends DbContext {
  readonly url: string;
  /** In the format of `SECRETS_KEY`. */
  readonly secretsKey: string;
  readonly accountId: string;
  /** Adds a monitor in `REGION`. @returns its id */
  addMonitor(fields: object): Promise<string>;
  query<Row extends object>(sql: string): Promise<Row[]>;
  close(): Promise<void>;
}

export async function openCheckerDatabase(): Promise<CheckerDatabase> {
  const database = await createTestDatabase();
  const opened = openDatabase({
    url: database.url,
    poolSize: 5,
    applicationName: 'checker test',
    onIdleError: () => undefined,
  });
  const { db, pool } = opened;
  const key = randomBytes(32);
  const context: DbContext = { db, secrets: new SecretBox([key]) };
  const accountId = (await ensureFirstAccount(db)).id;
  return {
    ...context,
    url: database.url,
    secretsKey: key.toString('base64'),
    accountId,
    addMonitor: async (fields) => {
      const input = createMonitorSchema.parse({ name: 'Shop', interval: 60, ...fields });
      return (await createMonitor(context, systemActor(accountId), input, REGION)).monitor.id;
    },
    query: async <Row extends object>(sql: string) => (await pool.query<Row>(sql)).rows,
    close: async () => {
      await opened.close();
      await database.drop();
    },
  };
}

export type ContextChanges = Partial<ScheduledCheckContext> & {
  readonly record?: RecorderOptions['record'];
  readonly load?: TargetSource['load'];
  readonly readRevisions?: TargetSource['readRevisions'];
};

/** Makes a context of checks in `REGION` without limits, locks, retries and canaries, unless `changes` contain them. */
export function checkContext(
  database: CheckerDatabase,
  {
    record = (batch) => recordChecks(database.db, batch),
    load = (ids) => loadCheckTargets(database, ids),
    readRevisions: readAll = (ids) => readRevisions(database.db, ids),
    ...changes
  }: ContextChanges = {},
): ScheduledCheckContext {
  const logger = createSilentLogger();
  return {
    region: REGION,
    targets: new TargetCache({ load, readRevisions: readAll }),
    capacity: new CheckCapacity({ concurrency: 100 }),
    recorder: new Recorder({
      record,
      ensurePartitions: async () => undefined,
      logger,
      onBatch: () => undefined,
    }),
    networkProof: testNetworkProof(),
    metrics: createCheckerMetrics(createMetrics()),
    prober: new Prober({ egress: loopbackEgress() }),
    announce: () => undefined,
    retry: async () => undefined,
    overlapGuard: { acquire: async () => async () => undefined },
    logger,
    ...changes,
  };
}
