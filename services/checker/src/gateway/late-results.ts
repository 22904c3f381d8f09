import { setTimeout as wait } from 'node:timers/promises';
import { AGENT_CLOSE, type AgentResult } from '@tocsin/contracts/agents/protocol';
import type { SecretBox } from '@tocsin/core/secrets/secret-box';
import type { CheckTarget } from '@tocsin/db/monitors/check-targets';
import { UnreadableMonitorError } from '@tocsin/db/monitors/monitor-codec';
import type { Logger } from '@tocsin/runtime/logger';
import { type CheckContext, isShutdown, recordProbed } from '../checks/run-check.ts';
import type { AgentConnection } from './agent-connection.ts';
import { toProbeResult } from './agent-result.ts';
import { openTicket } from './tickets.ts';

/** Results with older tickets are not recorded, so that an agent cannot replay old results. */
const MAX_TICKET_AGE_MS = 15 * 60_000;
const READ_AGAIN_AFTER_MS = 1_000;

interface LateResultOptions {
  readonly context: CheckContext;
  readonly secrets: SecretBox;
  readonly logger: Logger;
  /** Aborted when the last agent of the region disconnects, or this process shuts down. */
  readonly signal: AbortSignal;
}

/**
 * Records a result that an agent kept while it was disconnected, or whose probe this process abandoned. The agent forgets the result once
 * it is recorded or permanently refused. Never rejects.
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
    // Otherwise, the agent would send the result again on its next connection.
    confirm();
    return agent.close(AGENT_CLOSE.protocolError, 'a result has an invalid ticket');
  }
  const { monitorId, revision, region, source, slot, triggerId, urlOverride, issuedAt } = ticket;
  const ageMs = Date.now() - issuedAt;
  // A result that says nothing must not take the slot of a check that runs again elsewhere.
  if (ageMs > MAX_TICKET_AGE_MS || sent.ownFailure === 'agent_disconnected') return confirm();
  try {
    const target = await readTarget(options, agent, monitorId);
    if (target === undefined) return;
    if (target === null) return confirm();
    const endedAt = performance.now() - sent.ageMs;
    const startedAt = Math.min(performance.now() - ageMs, endedAt);
    const result = { ...toProbeResult(sent), confirm };
    // The agent probed this revision of the monitor.
    const probed = { target: { ...target, revision }, region, urlOverride, startedAt, endedAt, result };
    const begunAt = Math.max(slot ?? 0, issuedAt);
    const request = { region, source, slot, triggerId, urlOverride };
    await recordProbed(context, request, probed, { begunAt, isLate: true });
  } catch (error) {
    if (!isShutdown(error)) logger.error('A late result was refused', { region, monitorId, error });
  }
}

/** Waits while PostgreSQL is unavailable. Returns null for a deleted or unreadable monitor, and undefined if the agent disconnects. */
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
