import type { Monitor, MonitorInput } from '@tocsin/contracts/monitor';
import type { DbContext } from '../database/context.ts';
import { answerOnce } from '../idempotency-keys/answer-once.ts';
import { externalIdTaken, toWritten, type WrittenMonitor } from './create-monitor.ts';
import { insertMonitors } from './insert-monitors.ts';

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
