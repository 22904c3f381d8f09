import { recordChecks } from '@tocsin/db/checks/record-checks';
import type { CheckRecord } from '@tocsin/db/checks/check-record';
import type { System } from '@tocsin/lab/system';

/** A region that no checker serves: only the test records its checks. */
export const NOWHERE = 'nowhere';

/**
 * Records a check of each of these monitors from `NOWHERE`, as a checker does, at a time that the test chooses.
 * @param slot unique for each check of a monitor
 * @returns the status changes that follow
 */
export async function recordCheck(
  { context }: Pick<System, 'context'>,
  monitorIds: readonly string[],
  slot: number,
  status: 'UP' | 'DOWN',
): Promise<string[]> {
  const passed = status === 'UP';
  const checks = monitorIds.map((monitorId): CheckRecord => ({
    monitorId,
    region: NOWHERE,
    revision: 1,
    slot,
    source: 'schedule',
    triggerId: null,
    urlOverride: null,
    status,
    latencyMs: 5,
    statusCode: passed ? 200 : 500,
    errorReason: passed ? null : 'HTTP_500',
    errorDetail: null,
    timings: { dns: null, tcp: 1, tls: null, firstByte: 1, download: null },
    certificateExpiresAt: null,
    network: null,
    response: null,
  }));
  const outcomes = await recordChecks(context.db, checks);
  return outcomes.flatMap((outcome) => {
    if (outcome.kind !== 'recorded') throw new Error(`a check was not recorded: ${outcome.kind}`);
    return outcome.statusChangeId ?? [];
  });
}
