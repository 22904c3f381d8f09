import type { TrialCheck } from '@tocsin/contracts/monitors/trial-check';
import type { monitorViewRoutes } from '@tocsin/contracts/monitors/routes';
import { namedRegions, requireRegions } from '@tocsin/db/agents/require-regions';
import { createTestCheck, deleteTestCheck, findTestResult } from '@tocsin/db/test-checks/test-checks';
import type { ApiContext } from '../context.ts';
import { monitorErrors } from '@tocsin/core/checks/monitor-errors';
import { invalidFields, stopping } from '../http/errors.ts';
import { type ApiRequest, SENT } from '../http/implement.ts';
import { waitFor } from '../http/wait-for.ts';
import { runTriggered, notAnswered, queueTrigger, START_WITHIN_MS } from './trigger.ts';

/** Runs one check with settings that are not saved. It counts as a triggered check. */
export async function runTrialCheck(
  context: ApiContext,
  { caller, query, body, res }: ApiRequest<typeof monitorViewRoutes.runTrialCheck>,
): Promise<{ test: TrialCheck } | typeof SENT> {
  const { db, settings, shutdown } = context;
  const errors = monitorErrors(body);
  if (errors.length > 0) throw invalidFields(errors);
  const region = query.region ?? body.regions[0] ?? settings.defaultRegion;
  const named = query.region === undefined ? [] : [{ code: query.region, path: 'region' }];
  await requireRegions(db, caller.accountId, context, [...namedRegions(body.regions), ...named]);
  const forMs = body.timeout * 1_000 + START_WITHIN_MS;
  return runTriggered(context, { caller, res }, forMs, async () => {
    const id = await createTestCheck(context, caller.accountId, body, START_WITHIN_MS);
    await queueTrigger(context, region, id);
    const isWanted = (): boolean => !res.destroyed && !shutdown.aborted;
    const result = await waitFor({ find: () => findTestResult(context, id), forMs, isWanted });
    await deleteTestCheck(db, id);
    if (result) return { test: { region, ...result } };
    if (shutdown.aborted) throw stopping();
    if (!res.destroyed) throw notAnswered(`region ${region}`, forMs);
    return SENT;
  });
}
