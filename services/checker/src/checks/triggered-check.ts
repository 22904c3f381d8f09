import type { JobPayload } from '@tocsin/contracts/jobs';
import { ProbeThrottledError } from '@tocsin/probe/probe';
import { type CheckContext, runCheck } from './run-check.ts';

/** A trigger that this process has taken, so that no other one runs it. */
interface TakenTrigger {
  readonly monitorId: string;
  readonly region: string;
  readonly url: string | null;
}

export interface TriggeredCheckContext extends CheckContext {
  /** Resolves to null if the trigger was taken, is too late, or is deleted. */
  readonly takeTrigger: (triggerId: string) => Promise<TakenTrigger | null>;
}

/** Runs a triggered check once, even if a shutdown ends it. @returns false if the trigger does not exist */
export async function runTriggeredCheck(
  context: TriggeredCheckContext,
  { triggerId }: JobPayload<'trigger'>,
): Promise<boolean> {
  const trigger = await context.takeTrigger(triggerId);
  if (trigger === null) return false;
  const { monitorId, region, url: urlOverride } = trigger;
  // The caller may have just changed the monitor.
  const target = await context.targets.latest(monitorId);
  if (target === null) return true;
  const request = { region, source: 'trigger', slot: null, triggerId, urlOverride } as const;
  await runCheck(context, target, request).catch((error: unknown) => {
    if (!(error instanceof ProbeThrottledError)) throw error;
    context.metrics.skipped.inc({ region, reason: error.reason });
  });
  return true;
}
