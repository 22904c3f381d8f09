import type { CheckOutcome, CheckRecord } from '@tocsin/db/checks/check-record';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { DatabaseError } from 'pg';
import { Recorder } from '../record/recorder.ts';

export function check(monitorId: string): CheckRecord {
  return { monitorId } as CheckRecord;
}

export const recorded: CheckOutcome = {
  kind: 'recorded',
  timestamp: 1,
  statusChangeId: null,
  outdated: false,
  unconfirmed: false,
  gap: null,
};

export function sqlError(code: string, message = 'refused'): DatabaseError {
  const error = new DatabaseError(message, 1, 'error');
  error.code = code;
  return error;
}

/** A recorder with a fake database; `batches` are the ids of each call. */
export function recorderOn(
  respond: (ids: string[], call: number) => CheckOutcome[] | Error | Promise<CheckOutcome[]>,
  ensurePartitions = async (): Promise<void> => undefined,
  onRefused = (): void => undefined,
): { recorder: Recorder; batches: string[][]; limits: (number | undefined)[] } {
  const batches: string[][] = [];
  const limits: (number | undefined)[] = [];
  const recorder = new Recorder({
    record: async (checks, options) => {
      const ids = checks.map((one) => one.monitorId);
      batches.push(ids);
      limits.push(options?.statementTimeoutMs);
      const result = respond(ids, batches.length);
      if (result instanceof Error) throw result;
      return result;
    },
    ensurePartitions,
    logger: createSilentLogger(),
    onBatch: () => undefined,
    onRefused,
    refusedWaitMs: 1,
  });
  return { recorder, batches, limits };
}

export const acceptAll = (ids: string[]): CheckOutcome[] => ids.map(() => recorded);
