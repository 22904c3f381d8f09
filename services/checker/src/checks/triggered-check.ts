import type { JobPayload } from '@tocsin/contracts/jobs';
import { ProbeThrottledError } from '../probe/body-budget.ts';
import { type CheckContext, runCheck } from './run-check.ts';

/** A trigger that this process alone runs. */
interface TakenTrigger {
  readonly monitorId: string;
  readonly region: string;
  readonly url: string | null;
}

export interface TriggeredCheckContext extends CheckContext {
  /** Null if it was taken before, is too late, or is deleted. */
  readonly takeTrigger: (triggerId: string) => Promise<TakenTrigger | null>;
}

/**
 * Runs a triggered check, once. The api waits for its event in Postgres. A check that a shutdown ends does not run again.
 * @returns whether there was such a trigger
 */
export async function runTriggeredCheck(
  context: TriggeredCheckContext,
  { triggerId }: JobPayload<'trigger'>,
): Promise<boolean> {
  const trigger = await context.takeTrigger(triggerId);
  if (trigger === null) return false;
  const { monitorId, region, url: urlOverride } = trigger;
  // The caller may just have changed the monitor.
  const target = await context.targets.latest(monitorId);
  if (target === null) return true;
  const request = { region, source: 'trigger', slot: null, triggerId, urlOverride } as const;
  await runCheck(context, target, request).catch((error: unknown) => {
    if (!(error instanceof ProbeThrottledError)) throw error;
    context.metrics.skipped.inc({ region, reason: 'throttled' });
  });
  return true;
}
