import type { JobPayload } from '@tocsin/contracts/jobs';
import { ProbeThrottledError } from '../probe/body-budget.ts';
import { type CheckContext, runCheck } from './run-check.ts';

/** A trigger that was taken: nobody else runs it. */
interface TakenTrigger {
  readonly monitorId: string;
  readonly region: string;
  readonly url: string | null;
}

export interface TriggeredCheckContext extends CheckContext {
  /** Null where it was taken already, is too late, or is gone. */
  readonly takeTrigger: (triggerId: string) => Promise<TakenTrigger | null>;
}

/**
 * Runs a triggered check, once (design §4 "Trigger"). The api waits for its event in Postgres. A check that must end with the
 * process is not run again: the api answers that no checker did.
 */
export async function runTriggeredCheck(
  context: TriggeredCheckContext,
  payload: JobPayload<'trigger'>,
): Promise<void> {
  const trigger = await context.takeTrigger(payload.triggerId);
  if (trigger === null) return;
  // Whoever triggers may just have changed the monitor: what it is now counts.
  context.targets.evict(trigger.monitorId);
  const target = await context.targets.get(trigger.monitorId, 1);
  if (target === null) return;
  const request = {
    region: trigger.region,
    source: 'trigger',
    slot: null,
    triggerId: payload.triggerId,
    urlOverride: trigger.url,
  } as const;
  await runCheck(context, target, request).catch((error: unknown) => {
    if (!(error instanceof ProbeThrottledError)) throw error;
    context.metrics.skipped.inc({ region: trigger.region, reason: 'throttled' });
  });
}
