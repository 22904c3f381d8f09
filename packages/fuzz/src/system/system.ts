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

export const PUBLIC_URL = 'http://tocsin.example';
/** The default region comes first. A fake checker runs triggered checks in each. */
export const REGIONS = ['default', 'eu-west-1'] as const;

export interface FuzzApi {
  readonly api: ServiceProcess;
  /** The lines that the api has logged since the last call. */
  newLogLines(): Promise<Record<string, unknown>[]>;
}

/** An api process on stores of its own, with fake checkers and a fake notifier. */
export interface FuzzSystem extends FuzzApi {
  readonly context: DbContext;
  readonly database: OpenDatabase;
  readonly secretsKey: string;
  /** Starts a further api process on the same stores. */
  startApi(env: Readonly<Record<string, string>>): Promise<FuzzApi>;
  close(): Promise<void>;
}

/** Needs the servers of a test run. */
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
        // Sign-ins are limited by address: each request states an address of its own.
        TRUST_PROXY: '1',
        ...changes,
      },
      logFile,
    );
    apis.push(api);
    await api.start();
    return { api, newLogLines: readerOf(logFile) };
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

/** Delivers test events, because their requests wait for the result. Sends nothing, and leaves other deliveries alone. */
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

function readerOf(logFile: string): FuzzApi['newLogLines'] {
  let position = 0;
  return async () => {
    const text = await readFile(logFile, 'utf8');
    const end = text.lastIndexOf('\n') + 1;
    const lines = text.slice(position, end).split('\n').filter(Boolean);
    position = end;
    return lines.map(parseLine);
  };
}

/** A line that is not JSON comes from Node.js itself, when the process crashes. */
function parseLine(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return { level: 'error', message: text };
  }
}
