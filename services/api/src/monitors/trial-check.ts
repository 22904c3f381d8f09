import { AppError } from '@tocsin/contracts/errors';
import type { CheckTest } from '@tocsin/contracts/monitors/check-test';
import type { monitorViewRoutes } from '@tocsin/contracts/monitors/routes';
import { createTestCheck, deleteTestCheck, findTestResult } from '@tocsin/db/test-checks/test-checks';
import type { ApiContext } from '../context.ts';
import { invalidFields, stopping, unavailable } from '../http/errors.ts';
import { type ApiRequest, SENT } from '../http/implement.ts';
import { waitFor } from '../http/wait-for.ts';
import { START_WITHIN_MS } from './trigger.ts';

/** Checks once with settings that are not saved, and waits for the result. It counts as a triggered check. */
export async function testMonitor(
  context: ApiContext,
  { caller, query, body, res }: ApiRequest<typeof monitorViewRoutes.testMonitor>,
): Promise<{ test: CheckTest } | typeof SENT> {
  const { db, settings, shutdown, triggerLimits } = context;
  const region = query.region ?? body.regions[0] ?? settings.defaultRegion;
  if (settings.regions?.includes(region) === false)
    throw invalidFields([{ path: 'region', message: `must be one of ${settings.regions.join(', ')}` }]);
  const forMs = body.timeout * 1_000 + START_WITHIN_MS;
  const release = triggerLimits.acquire(caller, forMs);
  let isOver = true;
  try {
    const id = await createTestCheck(context, caller.accountId, body, START_WITHIN_MS);
    await queueTest(context, region, id);
    const isWanted = (): boolean => !res.destroyed && !shutdown.aborted;
    const result = await waitFor({ find: () => findTestResult(context, id), forMs, isWanted });
    await deleteTestCheck(db, id);
    if (result) return { test: { region, ...result } };
    if (shutdown.aborted) throw stopping();
    if (!res.destroyed) throw new AppError('check_not_answered', noResult(region, forMs));
    isOver = false;
    return SENT;
  } finally {
    // A client that disconnects does not end the check: it counts for as long as it may take.
    if (isOver) release();
  }
}

async function queueTest({ producers }: ApiContext, region: string, id: string): Promise<void> {
  try {
    await producers.addTrigger(region, { triggerId: id });
  } catch (error) {
    throw unavailable('The check could not be queued. Try again later.', error);
  }
}

function noResult(region: string, waitedMs: number): string {
  return `No checker of region ${region} returned a result within ${waitedMs / 1_000} seconds.`;
}
