import { setTimeout as wait } from 'node:timers/promises';
import { AGENT_CLOSE, type AgentResult } from '@tocsin/contracts/agents/protocol';
import type { SecretBox } from '@tocsin/core/secrets/secret-box';
import type { CheckTarget } from '@tocsin/db/monitors/check-targets';
import { UnreadableMonitorError } from '@tocsin/db/monitors/monitor-codec';
import type { Logger } from '@tocsin/runtime/logger';
import { type CheckContext, isShutdown, recordProbed } from '../checks/run-check.ts';
import type { AgentConnection } from './agent-connection.ts';
import { AGENT_DISCONNECTED, toProbeResult } from './agent-result.ts';
import { openTicket } from './tickets.ts';

/** An older result is of no use. It would only allow an agent to repeat results of long ago. */
const MAX_TICKET_AGE_MS = 15 * 60_000;
const READ_AGAIN_AFTER_MS = 1_000;

interface LateResultOptions {
  readonly context: CheckContext;
  readonly secrets: SecretBox;
  readonly logger: Logger;
  /** Aborted when the agents of the region are gone, or this process shuts down. */
  readonly signal: AbortSignal;
}

/**
 * Records a result that an agent kept while it was disconnected, or whose probe this process gave up. The agent forgets it once it is
 * recorded or refused for good. Never rejects.
 */
export async function recordLateResult(
  options: LateResultOptions,
  agent: AgentConnection,
  sent: AgentResult,
): Promise<void> {
  const { context, secrets, logger } = options;
  const confirm = (): void => agent.confirm(sent.id);
  const ticket = openTicket(secrets, sent.ticket ?? '');
  if (ticket === null || ticket.region !== agent.region) {
    // Without this, the agent would send it again on its next connection.
    confirm();
    return agent.close(AGENT_CLOSE.protocolError, 'a result has an invalid ticket');
  }
  const { monitorId, revision, region, source, slot, triggerId, urlOverride, issuedAt } = ticket;
  const ageMs = Date.now() - issuedAt;
  // A result that says nothing must not take the slot of a check that runs again elsewhere.
  if (ageMs > MAX_TICKET_AGE_MS || sent.ownFailure === AGENT_DISCONNECTED.ownFailure) return confirm();
  try {
    const target = await readTarget(options, agent, monitorId);
    if (target === undefined) return;
    if (target === null) return confirm();
    const endedAt = performance.now() - sent.ageMs;
    const startedAt = Math.min(performance.now() - ageMs, endedAt);
    const result = { ...toProbeResult(sent), confirm };
    // The result is of the revision that was probed.
    const probed = { target: { ...target, revision }, region, urlOverride, startedAt, endedAt, result };
    const begunAt = Math.max(slot ?? 0, issuedAt);
    const request = { region, source, slot, triggerId, urlOverride };
    await recordProbed(context, request, probed, { begunAt, isLate: true });
  } catch (error) {
    if (!isShutdown(error)) logger.error('A late result was refused', { region, monitorId, error });
  }
}

/** Returns null for a deleted or unreadable monitor. Waits while PostgreSQL is unavailable, and returns undefined if the agent is gone by then. */
async function readTarget(
  { context, signal }: LateResultOptions,
  agent: AgentConnection,
  monitorId: string,
): Promise<CheckTarget | null | undefined> {
  while (!agent.isClosed && !signal.aborted) {
    try {
      return await context.targets.latest(monitorId);
    } catch (error) {
      if (error instanceof UnreadableMonitorError) return null;
      await wait(READ_AGAIN_AFTER_MS, undefined, { signal }).catch(() => undefined);
    }
  }
  return undefined;
}
