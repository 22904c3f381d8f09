import type { CheckOutcome, CheckRecord } from '@tocsin/db/checks/check-record';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { DatabaseError } from 'pg';
import { Recorder, type RecorderOptions } from '../record/recorder.ts';

export function check(monitorId: string): CheckRecord {
  return { monitorId } as CheckRecord;
}

/** Makes a check whose result is recorded soon. */
export function urgentCheck(monitorId: string): CheckRecord {
  return { monitorId, status: 'DOWN' } as CheckRecord;
}

export const recorded: CheckOutcome = {
  kind: 'recorded',
  timestamp: 1,
  inconclusive: false,
  statusChangeId: null,
  outdated: false,
  needsRetry: false,
  gap: null,
};

export function sqlError(code: string, message = 'refused'): DatabaseError {
  const error = new DatabaseError(message, 1, 'error');
  error.code = code;
  return error;
}

export const MISSING_PARTITION = sqlError('23514', 'no partition of relation "events" found for row');

type Respond = (
  ids: string[],
  call: number,
  checks: readonly CheckRecord[],
) => CheckOutcome[] | Error | Promise<CheckOutcome[]>;

/** Creates a recorder with a fake database. `batches` has the ids in each call, and `limits` the time limits of its statements. */
export function recorderOn(
  respond: Respond,
  changes: Partial<RecorderOptions> = {},
): { recorder: Recorder; batches: string[][]; limits: (number | undefined)[] } {
  const batches: string[][] = [];
  const limits: (number | undefined)[] = [];
  const recorder = new Recorder({
    record: async (checks, options) => {
      const ids = checks.map((one) => one.monitorId);
      batches.push(ids);
      limits.push(options?.statementTimeoutMs);
      const result = respond(ids, batches.length, checks);
      if (result instanceof Error) throw result;
      return result;
    },
    ensurePartitions: async () => undefined,
    logger: createSilentLogger(),
    onBatch: () => undefined,
    refusedWaitMs: 1,
    ...changes,
  });
  return { recorder, batches, limits };
}

export const acceptAll = (ids: string[]): CheckOutcome[] => ids.map(() => recorded);

/** Makes a promise that resolves when the test opens it. */
export function createGate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open: () => open() };
}
