import { recordChecks } from '@tocsin/db/checks/record-checks';
import { checkOf, failureOf } from '@tocsin/db/testing/check-record';
import type { System } from '@tocsin/lab/system';

/** No checker serves this region, so only the test records its checks. */
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
  const resultOf = status === 'UP' ? checkOf : failureOf;
  const checks = monitorIds.map((monitorId) => resultOf(monitorId, { region: NOWHERE, slot }));
  const outcomes = await recordChecks(context.db, checks);
  return outcomes.flatMap((outcome) => {
    if (outcome.kind !== 'recorded') throw new Error(`a check was not recorded: ${outcome.kind}`);
    return outcome.statusChangeId ?? [];
  });
}
