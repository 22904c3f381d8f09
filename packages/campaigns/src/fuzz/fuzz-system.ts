import { readFile } from 'node:fs/promises';
import { startFakeChecker } from '@tocsin/api/testing/fake-checker';
import { attempt } from '@tocsin/api/testing/fake-notifier';
import type { ServiceProcess } from '@tocsin/lab/service-process';
import { createSystem, type System } from '@tocsin/lab/system';
import { startJobWorker, type JobWorker } from '@tocsin/queue/job-worker';
import { openQueueStore } from '@tocsin/queue/open-queue-store';
import type { QueueStore } from '@tocsin/queue/queue-store';

/** The default region comes first. Each region has a fake checker, which runs triggered checks. */
export const REGIONS = ['default', 'eu-west-1'] as const;

type Env = Readonly<Record<string, string>>;

/** Each request states its own address, because sign-ins are limited by address. */
const API_ENV: Env = {
  LOG_LEVEL: 'warn',
  REGIONS: REGIONS.join(','),
  DEFAULT_REGION: REGIONS[0],
  TRUST_PROXY: '1',
};

export interface FuzzApi {
  readonly api: ServiceProcess;
  /** Returns the log lines since the last call that are errors. */
  newErrors(): Promise<string[]>;
}

/** An api process with its own stores, fake checkers and a fake notifier. */
export interface FuzzSystem extends FuzzApi, Pick<System, 'context' | 'database' | 'env'> {
  startApi(env: Env): Promise<FuzzApi>;
  close(): Promise<void>;
}

/** Requires the servers of a test run. */
export async function openSystem(env: Env = {}): Promise<FuzzSystem> {
  const system = await createSystem({ queue: 'redis', receiverCa: '', env: API_ENV });
  const startApi = async (settings: Env): Promise<FuzzApi> => {
    const api = system.service('api', settings);
    await api.start();
    return { api, newErrors: errorsOf(api.logFile) };
  };
  const first = await startApi(env);
  const store = openQueueStore(system.queueUrl, () => undefined);
  const workers = [
    ...REGIONS.map((region) => startFakeChecker(store, system.context, region)),
    startFakeNotifier(store, system),
  ];
  return {
    ...first,
    context: system.context,
    database: system.database,
    env: system.env,
    startApi,
    close: async () => {
      await Promise.all(workers.map((worker) => worker.close()));
      await store.close();
      await system.close();
    },
  };
}

/** Delivers test events, because their requests wait for the result. Sends nothing, and ignores other deliveries. */
function startFakeNotifier(store: QueueStore, system: System): JobWorker {
  return startJobWorker(store, {
    kind: 'delivery',
    region: null,
    concurrency: 5,
    process: async ({ deliveryId }) => {
      const query = 'select from deliveries where id = $1 and test';
      const { rowCount } = await system.database.pool.query(query, [deliveryId]);
      if (rowCount === 1) await attempt(system, [deliveryId], 204);
    },
    onFailed: () => undefined,
  });
}

function errorsOf(logFile: string): FuzzApi['newErrors'] {
  let position = 0;
  return async () => {
    const text = await readFile(logFile, 'utf8');
    const end = text.lastIndexOf('\n') + 1;
    const lines = text.slice(position, end).split('\n').filter(Boolean);
    position = end;
    // When the process crashes, Node.js writes lines that are not JSON.
    return lines.filter((line) => !line.startsWith('{"') || line.includes('"level":"error"'));
  };
}

/** Returns the resident memory of a process in MB, or 0 after its end. */
export async function residentMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1_024);
}
