import type { AgentResult } from '@tocsin/contracts/agents/protocol';
import type { ErrorReason } from '@tocsin/contracts/vocabulary';
import { OWN_FAILURES, type OwnFailure } from '@tocsin/core/checks/describe-error';
import { sanitiseDetail } from '@tocsin/core/checks/error-reason';
import type { ProbeResult } from '@tocsin/probe/probe';

/** End of the year 9999. */
const MAX_TIME_MS = 253_402_300_799_999;

/** Converts a result of an agent, which may be of a newer version, or lie. */
export function toProbeResult(sent: AgentResult): ProbeResult {
  const { status, latencyMs, statusCode, errorDetail, timings, transportFailure, response } = sent;
  const { certificateExpiresAt, ownFailure } = sent;
  // The protocol schema has the same values.
  const errorReason = (sent.errorReason ?? 'UNKNOWN_ERROR') as ErrorReason;
  return {
    status,
    latencyMs,
    statusCode,
    errorReason: status === 'UP' ? null : errorReason,
    // PostgreSQL refuses some characters.
    errorDetail: errorDetail === null ? null : sanitiseDetail(errorDetail),
    timings,
    certificateExpiresAt: isStorable(certificateExpiresAt) ? new Date(certificateExpiresAt) : null,
    transportFailure,
    ownFailure: ownFailure === null || isOwnFailure(ownFailure) ? ownFailure : 'agent_disconnected',
    response: response === null ? null : () => response,
    ...(sent.assertions && {
      assertions: sent.assertions.map((one) => ({ ...one, detail: sanitiseDetail(one.detail) })),
    }),
  };
}

/** Reports whether PostgreSQL and clients can represent the time. */
function isStorable(epochMs: number | null): epochMs is number {
  return epochMs !== null && epochMs >= 0 && epochMs <= MAX_TIME_MS;
}

function isOwnFailure(code: string): code is OwnFailure {
  return Object.hasOwn(OWN_FAILURES, code);
}
