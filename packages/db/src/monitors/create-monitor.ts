import { AppError } from '@tocsin/contracts/errors';
import type { Monitor, MonitorInput } from '@tocsin/contracts/monitors/monitor';
import { brokenUniqueConstraint } from '../database/errors.ts';
import type { DbContext } from '../database/open.ts';
import { answerOnce } from '../idempotency-keys/run-once.ts';
import { insertMonitors } from './insert-monitors.ts';
import type { MonitorSchedule, WrittenRow } from './insert-monitors.ts';
import { toMonitor } from './monitor-codec.ts';
import { versionOf } from './monitor-row.ts';

/** A monitor as it was written, and the schedule that is due for it. */
export interface WrittenMonitor {
  readonly monitor: Monitor;
  /** See `versionOf`. */
  readonly version: string;
  readonly schedule: MonitorSchedule;
}

/**
 * Creates a monitor with status PENDING and its regions, in one transaction (specification "Create a monitor").
 * @throws AppError conflict where the account has the externalId already
 */
export async function createMonitor(
  context: DbContext,
  accountId: string,
  input: MonitorInput,
  defaultRegion: string,
): Promise<WrittenMonitor> {
  const [written] = await context.db
    .transaction((tx) => insertMonitors(tx, context.secrets, accountId, [input], defaultRegion))
    .catch((error: unknown) => {
      throw externalIdTaken(error, input.externalId) ?? error;
    });
  if (!written) throw new Error('no monitor was written');
  return toWritten(context, written);
}

/** A written row as the callers of queries know it. */
export function toWritten(
  { secrets }: Pick<DbContext, 'secrets'>,
  { row, regions }: WrittenRow,
): WrittenMonitor {
  return {
    monitor: toMonitor(row, secrets),
    version: versionOf(row),
    schedule: scheduleOf({ row, regions }),
  };
}

export function scheduleOf({ row, regions }: WrittenRow): MonitorSchedule {
  return { monitorId: row.id, revision: row.revision, intervalSeconds: row.intervalSeconds, regions };
}

/** The conflict behind a broken unique constraint on externalId, or null for any other error. */
export function externalIdTaken(error: unknown, externalId: string | null | undefined): AppError | null {
  if (brokenUniqueConstraint(error) !== 'monitors_external_id_key') return null;
  return new AppError('conflict', `Another monitor of this account has externalId "${externalId}".`, {
    errors: [{ path: 'externalId', message: 'is taken by another monitor of this account' }],
    cause: error,
  });
}

interface CreatedOnce extends Omit<WrittenMonitor, 'schedule'> {
  /** Null where the monitor was created by an earlier request with the same key. */
  readonly schedule: WrittenMonitor['schedule'] | null;
}

/** A new monitor as it was, but for what its creator said. */
type Given = Omit<Monitor, keyof MonitorInput>;

/**
 * `createMonitor` for a request with an Idempotency-Key: asked again, it gives the monitor as it was when it was created.
 * @throws AppError conflict (externalId), request_in_flight, idempotency_key_reused
 */
export async function createMonitorOnce(
  context: DbContext,
  accountId: string,
  input: MonitorInput,
  defaultRegion: string,
  key: string,
): Promise<CreatedOnce> {
  const { db, secrets } = context;
  return db
    .transaction(async (tx) => {
      let written: WrittenMonitor | null = null;
      const { answer } = await answerOnce(tx, { accountId, key, asked: input, secrets }, async () => {
        const [row] = await insertMonitors(tx, secrets, accountId, [input], defaultRegion);
        if (!row) throw new Error('no monitor was written');
        written = toWritten(context, row);
        const { monitor, version } = written;
        const { id, status, statusSince, lastCheckedAt, createdAt, updatedAt } = monitor;
        const given: Given = { id, status, statusSince, lastCheckedAt, createdAt, updatedAt };
        return { given, version };
      });
      const { id, ...given } = answer.given;
      const replayed: CreatedOnce = {
        monitor: { id, ...input, ...given },
        version: answer.version,
        schedule: null,
      };
      return written ?? replayed;
    })
    .catch((error: unknown) => {
      throw externalIdTaken(error, input.externalId) ?? error;
    });
}
