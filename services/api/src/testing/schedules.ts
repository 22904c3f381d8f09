import { createMonitorSchema, type Monitor } from '@tocsin/contracts/monitors/monitor';
import { waveId, waveOf } from '@tocsin/core/schedule/slots';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import type { CheckRecord } from '@tocsin/db/checks/check-record';
import { createMonitor } from '@tocsin/db/monitors/create-monitors';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { checkOf } from '@tocsin/db/testing/check-record';
import { Producers } from '@tocsin/queue/producers';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { createMetrics } from '@tocsin/runtime/metrics';
import type { ReconcilerOptions } from '../schedule/reconciler.ts';
import { createScheduleMetrics } from '../schedule/schedule-metrics.ts';
import type { TestApi } from './test-api.ts';
import { ENQUEUE_WITHIN_MS, type TestQueue } from './test-queue.ts';

/** One job scheduler as the store has it. */
export interface StoredSchedule {
  readonly id: string;
  readonly every: number | undefined;
  readonly next: number | undefined;
}

/** Every job scheduler of a region, by id. */
export async function storedSchedules(queue: TestQueue, region: string): Promise<StoredSchedule[]> {
  const schedulers = await queue.producers.queue('check', region).getJobSchedulers();
  return schedulers
    .map(({ key, every, next }) => ({ id: key, every, next }))
    .toSorted((one, other) => one.id.localeCompare(other.id));
}

/** The ids of the waves in the store, in their order. */
export async function storedWaves(queue: TestQueue, region: string = 'default'): Promise<string[]> {
  return (await storedSchedules(queue, region)).map(({ id }) => id);
}

/** Ids of a region's waiting, prioritized and delayed jobs. */
export async function storedJobs(queue: TestQueue, region: string): Promise<string[]> {
  const jobs = await queue.producers.queue('check', region).getJobs(['waiting', 'delayed', 'prioritized']);
  return jobs.map((job) => job.id ?? '').toSorted();
}

/** Commits a monitor as if the api had crashed right after, so that nothing is in the store. */
export async function commitMonitor(api: TestApi, fields: Record<string, unknown> = {}): Promise<Monitor> {
  const input = createMonitorSchema.parse({ name: 'Shop', url: 'https://shop.example', ...fields });
  return (await createMonitor(api.context, systemActor(api.account.id), input, 'default')).monitor;
}

/** Almost certainly enough to get the requested number in one of the hundred waves of the shortest interval. */
const MAX_TRIED = 2_000;

/** Commits `count` monitors in one wave with the shortest interval, as `commitMonitor` does. @returns their ids */
export async function commitWave(
  api: TestApi,
  count: number,
  fields: Record<string, unknown> = {},
): Promise<string[]> {
  const byWave = new Map<string, string[]>();
  let found: string[] | undefined;
  for (let tried = 0; tried < MAX_TRIED && !found; tried += 1) {
    const { id } = await commitMonitor(api, { ...fields, interval: 5, timeout: 1 });
    const key = waveId(waveOf(id, 5));
    const members = [...(byWave.get(key) ?? []), id];
    byWave.set(key, members);
    if (members.length === count) found = members;
  }
  if (!found) throw new Error('found no wave with enough monitors');
  for (const id of [...byWave.values()].flat()) {
    if (!found.includes(id)) await deleteMonitor(api.context.db, systemActor(api.account.id), id);
  }
  return found;
}

/** Records a passing check, so that the monitor is no longer PENDING. */
export async function checkOnce(api: TestApi, id: string, fields: Partial<CheckRecord> = {}): Promise<void> {
  await recordChecks(api.context.db, [checkOf(id, fields)]);
}

/** Returns the revision that Postgres records as applied, or null. */
export async function scheduledRevision(api: TestApi, id: string, region: string): Promise<number | null> {
  const { rows } = await api.database.pool.query<{ scheduled_revision: number | null }>(
    'select scheduled_revision from monitor_regions where monitor_id = $1 and region = $2',
    [id, region],
  );
  return rows[0]?.scheduled_revision ?? null;
}

/** Options of a reconciler that audits in each run, and that waits for each region, however slow the machine. */
export function reconcilerOptions(api: TestApi, { producers }: TestQueue): ReconcilerOptions {
  return {
    db: api.context.db,
    producers,
    defaultRegion: 'default',
    regions: ['default'],
    metrics: createScheduleMetrics(createMetrics()),
    logger: createSilentLogger(),
    auditEveryMs: 0,
    regionTimeoutMs: 600_000,
  };
}

type CheckQueue = ReturnType<Producers['queue']>;

/** Creates the real producers, with some methods of one region's check queue replaced. */
export function producersWith(
  queue: TestQueue,
  region: string,
  replace: (real: CheckQueue) => object,
): Producers {
  const real = queue.producers.queue('check', region);
  const replaced = Object.assign(Object.create(real) as CheckQueue, replace(real));
  const queueOf: Producers['queue'] = (kind, of) =>
    of === region ? replaced : queue.producers.queue(kind, of);
  return Object.assign(new Producers(queue.store, ENQUEUE_WITHIN_MS), { queue: queueOf });
}
