import type { CheckRecord } from '@tocsin/db/checks/check-record';
import type { CheckTarget } from '@tocsin/db/monitors/check-targets';
import { type ProbeResult, type ProbeTarget, ProbeThrottledError } from '@tocsin/probe/probe';

/** Identifies a check, so that any gateway can record its result. */
export interface CheckIdentity
  extends
    Pick<CheckRecord, 'region' | 'source' | 'slot' | 'triggerId' | 'urlOverride'>,
    Pick<CheckTarget, 'monitorId' | 'accountId' | 'revision'> {}

export interface CheckProbeResult extends ProbeResult {
  /** Call once the result is recorded or permanently refused. Absent if no agent keeps the result. */
  readonly confirm?: () => void;
}

/** Thrown if every agent that ran a probe disconnected. An event would take the place of their results, which may still arrive. */
export class AgentsLostError extends ProbeThrottledError {
  override readonly reason = 'agent_disconnected';
}

/** Thrown if every connected agent is too old to know all fields of the probe. */
export class AgentsOutdatedError extends ProbeThrottledError {
  override readonly reason = 'agent_outdated';
}

/** Probes targets from this process (`Prober`) or from agents (`RemoteProber`). */
export interface CheckProber {
  /**
   * A failing target is a result.
   * @param check absent if a late result would be useless
   * @throws ProbeAbortedError at shutdown, ProbeThrottledError if other accounts needed its capacity
   */
  probe(target: ProbeTarget, check?: CheckIdentity): Promise<CheckProbeResult>;
}
