import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startFakeChecker } from '@tocsin/api/testing/fake-checker';
import { SecretBox } from '@tocsin/core/secrets/secret-box';
import { openDatabase, type OpenDatabase } from '@tocsin/db/database/open';
import type { DbContext } from '@tocsin/db/database/open';
import { claimDeliveries } from '@tocsin/db/deliveries/claim-deliveries';
import { recordAttempt } from '@tocsin/db/deliveries/record-attempt';
import { ServiceProcess } from '@tocsin/lab/service-process';
import { createTestDatabase } from '@tocsin/embedded/testing/database';
import { createTestRedis } from '@tocsin/embedded/testing/redis';
import { type JobWorker, startJobWorker } from '@tocsin/queue/job-worker';
import { migrateQueue } from '@tocsin/queue/migrate';
import { openQueueStores } from '@tocsin/queue/queue-stores';
import type { QueueStores } from '@tocsin/queue/queue-stores';

/** The address that people see: the one origin that the api takes from browsers. */
export const PUBLIC_URL = 'http://tocsin.example';
/** The regions a monitor may name, the default one first; each has somebody who answers triggers. */
export const REGIONS = ['default', 'eu-west-1'] as const;

/** An api process, and what it logs. */
export interface FuzzApi {
  readonly api: ServiceProcess;
  /** What the api has logged since this was last asked, by line. */
  newLogLines(): Promise<Record<string, unknown>[]>;
}

/** An api process on stores of its own, and what stands for checkers and notifiers. */
export interface FuzzSystem extends FuzzApi {
  readonly context: DbContext;
  readonly database: OpenDatabase;
  readonly secretsKey: string;
  /** Starts a further api process on the same stores. */
  startApi(env: Readonly<Record<string, string>>): Promise<FuzzApi>;
  close(): Promise<void>;
}

/** Only where a test run's servers are up. */
export async function openSystem(env: Readonly<Record<string, string>> = {}): Promise<FuzzSystem> {
  const testDatabase = await createTestDatabase();
  const queueUrl = (await createTestRedis()).url;
  await migrateQueue(queueUrl);
  const folder = await mkdtemp(join(process.env['TEST_FOLDER'] ?? tmpdir(), 'fuzz-'));
  const key = randomBytes(32);
  const secretsKey = key.toString('base64');
  const database = openDatabase({
    url: testDatabase.url,
    poolSize: 5,
    applicationName: 'tocsin fuzz',
    onIdleError: () => undefined,
  });
  const context = { db: database.db, secrets: new SecretBox([key]) };
  const apis: ServiceProcess[] = [];
  const startApi = async (changes: Readonly<Record<string, string>>): Promise<FuzzApi> => {
    const logFile = join(folder, `api-${apis.length}.log`);
    const api = new ServiceProcess(
      'api',
      {
        DATABASE_URL: testDatabase.url,
        QUEUE_URL: queueUrl,
        SECRETS_KEY: secretsKey,
        PORT: '0',
        PUBLIC_URL,
        LOG_LEVEL: 'warn',
        LOG_FORMAT: 'json',
        REGIONS: REGIONS.join(','),
        DEFAULT_REGION: REGIONS[0],
        API_RATE_LIMIT_PER_MINUTE: '0',
        // Each address has its own count of sign-ins: a request says its own.
        TRUST_PROXY: '1',
        ...changes,
      },
      logFile,
    );
    apis.push(api);
    await api.start();
    return { api, newLogLines: linesOf(logFile) };
  };
  const first = await startApi(env);
  const stores = openQueueStores(queueUrl, new Map(), () => undefined);
  const workers = [
    ...REGIONS.map((region) => startFakeChecker(stores, context.db, region)),
    startFakeNotifier(stores, context, database),
  ];
  return {
    ...first,
    context,
    database,
    secretsKey,
    startApi,
    close: async () => {
      await Promise.all(workers.map((worker) => worker.close()));
      await Promise.all(apis.map((one) => one.signal('SIGKILL')));
      await stores.close();
      await database.close();
      await testDatabase.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Reads the lines that were added to a log since the last time. */
function linesOf(logFile: string): FuzzApi['newLogLines'] {
  let read = 0;
  return async () => {
    const text = await readFile(logFile, 'utf8');
    const end = text.lastIndexOf('\n') + 1;
    const lines = text.slice(read, end).split('\n').filter(Boolean);
    read = end;
    return lines.map(toLine);
  };
}

/** What is not JSON was not logged by the logger: the process said it as it died. */
function toLine(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return { level: 'error', message: text };
  }
}

/** A notifier that delivers test events, for which a request waits, without sending anything; whatever else is due stays so. */
function startFakeNotifier(stores: QueueStores, context: DbContext, { pool }: OpenDatabase): JobWorker {
  return startJobWorker(stores.main, {
    kind: 'delivery',
    region: null,
    concurrency: 5,
    process: async ({ deliveryId }) => {
      const { rows } = await pool.query<{ test: boolean }>('select test from deliveries where id = $1', [
        deliveryId,
      ]);
      if (rows[0]?.test !== true) return;
      const [claimed] = await claimDeliveries(context, { deliveryId });
      if (claimed === undefined) return;
      const { leaseToken, channelId, url, test } = claimed;
      await recordAttempt(context.db, {
        deliveryId,
        leaseToken,
        channelId,
        url,
        test,
        startedAt: new Date(),
        durationMs: 12,
        statusCode: 204,
        error: null,
        responseExcerpt: 'thanks',
        outcome: { kind: 'delivered' },
      });
    },
    onFailed: () => undefined,
  });
}
